import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { procfs } from '../process/procfs.ts';
import { watchFolder } from '../process/watch.ts';
import { runCheck, type CheckSpec, checkSlug } from './check.ts';

let folder: string;
let spec: CheckSpec;
const never = new AbortController().signal;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ralph-check-'));
  spec = {
    command: 'true',
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '' },
    marker: { name: 'RALPH_RUN_ID', value: folder },
    log: join(folder, 'logs', 'check.log'),
    shownAs: 'check.log',
    timeoutMs: null,
    maxBytes: null,
    graceMs: 1000,
  };
});
afterEach(async () => {
  const left = await procfs.marked(spec.marker);
  for (const pid of left) process.kill(pid, 'SIGKILL');
  rmSync(folder, { recursive: true, force: true });
  if (left.length > 0) throw new Error(`left running: ${left.join(', ')}`);
});
const log = () => readFileSync(spec.log, 'utf8');
/** Resolves when a file of this name exists. */
const appears = (name: string) =>
  new Promise<void>((resolve) => {
    const stop = watchFolder(folder, () => {
      if (!readdirSync(folder).includes(name)) return;
      stop();
      resolve();
    });
  });

describe('a check', () => {
  it('S2.55 S2.56 S3.22 S3.23 runs a shell command in the workspace and passes with exit code 0', async () => {
    writeFileSync(join(folder, 'there'), '');
    const passed = await runCheck({ ...spec, command: 'test -f there && echo "yes" | cat' }, procfs, never);
    expect(passed).toMatchObject({ code: 0, timedOut: false, log: 'check.log' });
    expect(log()).toBe('yes\n');
    expect(await runCheck({ ...spec, command: 'exit 7' }, procfs, never)).toMatchObject({ code: 7 });
  });

  it('S2.57 S3.25 logs its complete output, stdout followed by stderr', async () => {
    await runCheck({ ...spec, command: 'echo oops >&2; echo out; exit 1' }, procfs, never);
    expect(log()).toBe('out\noops\n');
    await runCheck({ ...spec, command: 'echo fine' }, procfs, never);
    expect(log()).toBe('fine\n');
    expect(readdirSync(join(folder, 'logs'))).toEqual(['check.log']);
  });

  it('S3.52 fails if it cannot be started, and logs why', async () => {
    const command = `: ${'x'.repeat(200_000)}`;
    expect(await runCheck({ ...spec, command }, procfs, never)).toMatchObject({
      code: null,
      timedOut: false,
    });
    expect(log()).toMatch(/^Error: .*E2BIG\n$/);
  });

  it(
    'S3.24 fails when it times out, logs Timeout and leaves no process behind',
    { tags: ['setsid'] },
    async () => {
      const command = 'sleep 300 & setsid sleep 300 & sleep 300';
      const result = await runCheck({ ...spec, command, timeoutMs: 100 }, procfs, never);
      expect(result).toMatchObject({ code: null, timedOut: true });
      expect(log()).toContain('Timeout');
      expect(await procfs.marked(spec.marker)).toEqual([]);
    },
  );

  it('ends processes that it left running, and stops at once when it is interrupted', async () => {
    await runCheck({ ...spec, command: 'sleep 300 &' }, procfs, never);
    expect(await procfs.marked(spec.marker)).toEqual([]);
    const interrupt = new AbortController();
    const checking = runCheck({ ...spec, command: ': >begun; sleep 300' }, procfs, interrupt.signal);
    await appears('begun');
    interrupt.abort();
    expect(await checking).toBeNull();
    expect(await procfs.marked(spec.marker)).toEqual([]);
  });

  it.each([
    ['never ends', 'yes & yes >&2; wait', 'y\n'.repeat(500)],
    [
      'is over before the output is looked at',
      'yes | head -c 600; yes | head -c 600 >&2; exit 0',
      'y\n'.repeat(500),
    ],
  ])(
    'is ended at the output limit and keeps the beginning of its output, if it %s',
    async (_, command, kept) => {
      const result = await runCheck({ ...spec, command, maxBytes: 1000 }, procfs, never);
      expect(result).toEqual({
        code: null,
        timedOut: false,
        flooded: true,
        durationMs: result?.durationMs,
        log: 'check.log',
      });
      expect(log()).toBe(`${kept}\nOutput limit (1000 bytes)\n`);
      expect(await procfs.marked(spec.marker)).toEqual([]);
    },
  );

  it('may print as much as its limit', async () => {
    const command = 'yes | head -c 1000; exit 3';
    expect(await runCheck({ ...spec, command, maxBytes: 1000 }, procfs, never)).toMatchObject({ code: 3 });
  });

  it('returns a result if the command deletes its log folder or stops its shim', async () => {
    expect(await runCheck({ ...spec, command: 'rm -rf logs; exit 3' }, procfs, never)).toMatchObject({
      code: 3,
    });
    const stopped = runCheck(
      { ...spec, command: 'kill -STOP $PPID', graceMs: 50, timeoutMs: 200 },
      procfs,
      never,
    );
    expect(await stopped).toMatchObject({ code: null, timedOut: true });
  });
});

describe('checkSlug', () => {
  it('S2.62 S2.63 turns a command into a file name: letters and digits, 50 at most, edges trimmed', () => {
    expect(checkSlug(['./mvnw clean install -T 2C'], 0)).toBe('mvnw_clean_install_T_2C');
    expect(checkSlug([`echo ${'x'.repeat(80)}`], 0)).toHaveLength(50);
    expect(checkSlug(['???'], 0)).toBe('check');
    expect(checkSlug(['make vérification'], 0)).toBe('make_verification');
  });

  it('S2.99 gives two checks with the same name different slugs', () => {
    const commands = ['npm test', 'npm  test!', 'lint', 'npm-test'];
    expect(commands.map((_, index) => checkSlug(commands, index))).toEqual([
      'npm_test',
      'npm_test_1',
      'lint',
      'npm_test_2',
    ]);
    expect(['x', 'x', 'x 1'].map((_, index) => checkSlug(['x', 'x', 'x 1'], index))).toEqual([
      'x',
      'x_1',
      'x_1_1',
    ]);
  });
});
