import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as immediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { procfs } from './procfs.ts';
import { keepSpareShell, startInSpareShell, type StartedProcess } from './spare-shell.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ralph-spare-'));
  writeFileSync(join(folder, 'in'), 'input');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Waits until a shell is there: the first call only counts. */
const prepare = async (): Promise<void> => {
  keepSpareShell();
  keepSpareShell();
  await immediate();
};
const start = (
  argv: readonly [string, ...string[]],
  env: Readonly<Record<string, string>> = { A: 'a' },
  cwd = folder,
): StartedProcess | null =>
  startInSpareShell(argv, {
    cwd,
    env,
    stdin: join(folder, 'in'),
    stdout: join(folder, 'out'),
    stderr: join(folder, 'err'),
  });
const ended = (child: StartedProcess | null): Promise<number | null> =>
  new Promise((resolve) => {
    if (child === null) throw new Error('there was no shell');
    child.once('exit', (code) => resolve(code));
  });
const read = (name: string): string => readFileSync(join(folder, name), 'utf8');

describe('a spare shell', () => {
  it('becomes the program, with its own session, files and environment', async () => {
    await prepare();
    const odd = `it's "odd"\n$HOME \`x\` \\ é`;
    const child = start(
      [
        process.execPath,
        '-e',
        `console.log(JSON.stringify([process.pid, process.argv[1], process.env])); console.error(require('fs').readFileSync(0, 'utf8'))`,
        odd,
      ],
      { ODD: odd, PATH: '/usr/bin:/bin' },
    );
    expect(await ended(child)).toBe(0);
    const env = { ODD: odd, PATH: '/usr/bin:/bin', PWD: folder };
    expect(JSON.parse(read('out'))).toEqual([child?.pid, odd, env]);
    expect(read('err')).toBe('input\n');
  });

  it('leads its own process group', async () => {
    await prepare();
    const child = start(['/bin/sleep', '300']);
    process.kill(-(child?.pid ?? 0), 'SIGKILL');
    expect(await ended(child)).toBeNull();
  });

  it('serves one program; the next is started in another way or waits for the next shell', async () => {
    await prepare();
    const first = start(['/bin/true']);
    expect(start(['/bin/true'])).toBeNull();
    expect(await ended(first)).toBe(0);
    await prepare();
    expect(await ended(start(['/bin/sh', '-c', 'exit 7']))).toBe(7);
  });

  it.each([
    ['a folder that does not exist', () => start(['/bin/true'], {}, join(folder, 'none'))],
    ['a variable that a shell would drop', () => start(['/bin/true'], { 'a.b': '' })],
    ['a variable that a shell cannot set', () => start(['/bin/true'], { UID: '1' })],
    ['more than fits in a line', () => start(['/bin/true', 'x'.repeat(100_000)])],
  ])('is not used for %s', async (_, attempt) => {
    await prepare();
    expect(attempt()).toBeNull();
    expect(await ended(start(['/bin/true']))).toBe(0);
  });

  it('is forgotten if it was killed', async () => {
    await prepare();
    const before = new Set(childrenOf(process.pid));
    const child = start(['/bin/true']);
    await ended(child);
    await prepare();
    const shell = childrenOf(process.pid).find((pid) => !before.has(pid)) ?? 0;
    expect(procfs.birth(shell)).not.toBeNull();
    process.kill(shell, 'SIGKILL');
    // oxlint-disable-next-line no-await-in-loop -- polls
    while (procfs.birth(shell) !== null) await immediate();
    await immediate();
    expect(start(['/bin/true'])).toBeNull();
  });
});

function childrenOf(pid: number): readonly number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
}
