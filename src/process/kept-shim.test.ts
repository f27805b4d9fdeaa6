import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { inTime, until } from '../../test/rig/cli/until.ts';
import { runKept, type KeptCommand, type KeptRun } from './kept-shim.ts';
import { readStat } from './proc-files.ts';
import { procfs } from './procfs.ts';
import { startShim } from './shim.ts';

let root: string;
let runs: KeptRun[];
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'ralph-kept-'));
  runs = [];
});
afterEach(async () => {
  for (const run of runs) run.free(false);
  await Promise.all(runs.map(({ birth }) => gone(birth.pid)));
  rmSync(root, { recursive: true, force: true });
});

const gone = (pid: number): Promise<true> =>
  until(`the end of ${pid}`, () => procfs.alive([pid]).length === 0 || null, { everyMs: 2 });
/** Waits until a file exists. */
const made = (...path: readonly string[]): Promise<true> =>
  until(path.join('/'), () => existsSync(join(root, ...path)) || null, { everyMs: 1 });
const output = (name: string): string => readFileSync(join(root, name, 'out'), 'utf8');

/** Runs a program with its files in a folder of its own; null if it is not kept. */
const tryToRun = async (
  name: string,
  argv: readonly [string, ...string[]],
  more: Partial<KeptCommand> = {},
): Promise<KeptRun | null> => {
  const folder = join(root, name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'in'), 'input\n');
  const descriptors = [
    openSync(join(folder, 'in'), 'r'),
    openSync(join(folder, 'out'), 'a'),
    openSync(join(folder, 'err'), 'a'),
  ] as const;
  const env = { PATH: process.env['PATH'] ?? '' };
  const rest = { hasFiles: true, cwd: root, env, umask: '022', descriptors };
  const kept = await runKept({ sharedBy: root, folder, argv, ...rest, ...more });
  for (const descriptor of descriptors) closeSync(descriptor);
  if (kept !== null) runs.push(kept);
  return kept;
};
const run = async (...what: Parameters<typeof tryToRun>): Promise<KeptRun> => {
  const kept = await tryToRun(...what);
  if (kept === null) throw new Error('it is not kept');
  return kept;
};

describe('a shim that is kept', () => {
  it('runs the commands of a loop one after the other, and those of another loop behind another shim', async () => {
    const first = await run('1', ['/bin/sh', '-c', 'cat; exit 3']);
    expect(await first.ended).toBe(3);
    expect(output('1')).toBe('input\n');
    expect(readFileSync(join(root, '1', 'exit'), 'utf8')).toBe('3\n');
    first.free(true);
    const second = await run('2', ['/bin/sh', '-c', 'echo again']);
    const other = await run('3', ['/bin/sh', '-c', 'echo other'], { sharedBy: `${root}/other` });
    expect(await second.ended).toBe(0);
    expect(await other.ended).toBe(0);
    expect(output('2')).toBe('again\n');
    expect(second.birth.pid).toBe(first.birth.pid);
    expect(other.birth.pid).not.toBe(first.birth.pid);
  });

  it('is not used again before its run has been swept, nor after a process had to be ended', async () => {
    const first = await run('1', ['/bin/true']);
    await first.ended;
    expect(await tryToRun('2', ['/bin/true'])).toBeNull();
    first.free(false);
    const second = await run('3', ['/bin/true']);
    expect(second.birth.pid).not.toBe(first.birth.pid);
    expect(await second.ended).toBe(0);
    await gone(first.birth.pid);
  });

  it('passes on words and variables as they are', async () => {
    const odd = `a'b"c $HOME \`id\` \\ ; & | > < * ? # ~ \n\t é 你`;
    const script =
      'const { A, B, C } = process.env; process.stdout.write(JSON.stringify([process.argv.slice(1), A, B, C ?? null]))';
    const argv = [process.execPath, '-e', script, odd, ''] as const;
    const env = { PATH: process.env['PATH'] ?? '' };
    for (const [name, more] of [
      ['1', { A: odd, B: '1', C: 'x' }],
      ['2', { A: 'plain', B: odd }],
    ] as const) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const kept = await run(name, argv, { env: { ...env, ...more } });
      // oxlint-disable-next-line no-await-in-loop -- as above
      expect(await kept.ended).toBe(0);
      const { A, B } = more;
      expect(JSON.parse(output(name))).toEqual([[odd, ''], A, B, name === '1' ? 'x' : null]);
      kept.free(true);
    }
  });

  it.each([
    ['a wrong PWD', { PWD: '/nowhere' }],
    ['a relative PWD', { PWD: '.' }],
    ['an OLDPWD', { OLDPWD: '/old' }],
    ['nothing', {}],
  ])('gives a program the environment and descriptors of a shim of its own, with %s', async (_what, more) => {
    const env = { PATH: process.env['PATH'] ?? '', A: 'b', ...more };
    const script =
      'console.log(JSON.stringify([process.env, process.umask(), fs.readdirSync("/proc/self/fd").length]))';
    const argv = [process.execPath, '-e', script] as const;
    const kept = await run('kept', argv, { env, umask: '027' });
    await kept.ended;
    const folder = join(root, 'own');
    mkdirSync(folder);
    const own = startShim({
      folder,
      argv,
      cwd: root,
      env: { ...env, RALPH_UMASK: '027' },
      stdin: null,
      stdout: join(folder, 'out'),
      stderr: join(folder, 'err'),
    });
    await own.ended;
    expect(JSON.parse(output('kept'))).toEqual(JSON.parse(output('own')));
  });

  it('keeps the name that a person has for the working directory', async () => {
    symlinkSync(root, join(root, 'link'));
    const kept = await run('1', ['/bin/sh', '-c', 'echo $PWD'], { env: { PWD: join(root, 'link') } });
    await kept.ended;
    expect(output('1')).toBe(`${join(root, 'link')}\n`);
  });

  it('starts nothing in a folder where something was started', async () => {
    const first = await run('1', ['/bin/sh', '-c', 'echo ran']);
    await first.ended;
    first.free(true);
    expect(await tryToRun('1', ['/bin/sh', '-c', 'echo ran'])).toBeNull();
    expect(output('1')).toBe('ran\n');
  });

  it('leaves a command that it cannot pass on to others', async () => {
    writeFileSync(join(root, 'file'), '');
    expect(await tryToRun('1', ['/bin/true'], { env: { 'not-a-name': 'x' } })).toBeNull();
    expect(await tryToRun('2', ['/bin/true'], { cwd: join(root, 'missing') })).toBeNull();
    expect(await tryToRun('3', ['/bin/true'], { cwd: join(root, 'file') })).toBeNull();
    expect(await tryToRun('4', ['/bin/echo', 'x'.repeat(200_000)])).toBeNull();
    expect(await tryToRun('5', ['/bin/true'], { descriptors: [9999, 9999, 9999] })).toBeNull();
    expect(existsSync(join(root, '5', 'started'))).toBe(false);
  });

  it.each(['SIGKILL', 'SIGSTOP'] as const)('is not used after it got %s', async (signal) => {
    const first = await run('1', ['/bin/true']);
    await first.ended;
    process.kill(first.birth.pid, signal);
    const hasIt = (): true | null => ['T', 'Z', undefined].includes(readStat(first.birth.pid)?.state) || null;
    await until(`${signal} at ${first.birth.pid}`, hasIt, { everyMs: 1 });
    first.free(true);
    // Either it is found to be unfit, or it is gone before it could begin.
    const second = (await tryToRun('2', ['/bin/true'])) ?? (await run('3', ['/bin/true']));
    expect(second.birth.pid).not.toBe(first.birth.pid);
    expect(await second.ended).toBe(0);
    await gone(first.birth.pid);
  });

  it('is not used after a command has changed its priority', async () => {
    // As this process has it: the tests may run under `nice`.
    const inherited = getPriority();
    const script = `renice -n ${Math.min(inherited + 5, 19)} -p $PPID`;
    const first = await run('1', ['/bin/sh', '-c', script]);
    expect(await first.ended).toBe(0);
    first.free(true);
    const second = await run('2', ['/bin/sh', '-c', 'nice']);
    await second.ended;
    expect(output('2')).toBe(`${inherited}\n`);
  });

  it('serves a limited number of loops at once', async () => {
    const loops = Array.from({ length: 20 }, (_, index) => String(index));
    const all = await Promise.all(
      loops.map((name) => tryToRun(name, ['/bin/true'], { sharedBy: `${root}/${name}` })),
    );
    expect(all.filter((one) => one !== null).length).toBeLessThanOrEqual(16);
    expect(all.filter((one) => one !== null).length).toBeGreaterThan(8);
  });

  it('reports that it was killed, and is replaced', async () => {
    const first = await run('1', ['/bin/sleep', '300']);
    await made('1', 'started');
    process.kill(-first.birth.pid, 'SIGKILL');
    expect(await first.ended).toBeNull();
    expect(first.hasEnded()).toBe(true);
    const second = await run('2', ['/bin/true']);
    expect(await second.ended).toBe(0);
  });

  it('exits when it has had nothing to do for a moment', async () => {
    const kept = await run('1', ['/bin/true']);
    await kept.ended;
    kept.free(true);
    await gone(kept.birth.pid);
    const next = await run('2', ['/bin/true']);
    expect(await next.ended).toBe(0);
    expect(next.birth.pid).not.toBe(kept.birth.pid);
  });

  it('names the folder of what it runs to the processes below it', async () => {
    const first = await run('1', ['/bin/true']);
    await first.ended;
    first.free(true);
    await run('2', ['/bin/sh', '-c', 'echo $$; exec sleep 300']);
    await until('its output', () => output('2') !== '' || null, { everyMs: 1 });
    const [parent] = procfs.ancestors(Number(output('2')));
    expect(parent).toMatchObject({ pid: first.birth.pid, shim: join(root, '2') });
    process.kill(Number(output('2')), 'SIGKILL');
  });
});

/** A program that has a shim. */
interface Owner {
  readonly shim: number;
  readonly kill: () => Promise<void>;
  /** Its exit code. */
  readonly ended: Promise<number | null>;
}

describe('a shim that is kept, and its owner', () => {
  const shimModule = JSON.stringify(new URL('../../dist/process/kept-shim.js', import.meta.url).href);
  /** Starts an owner that does something with `run`, and prints the pid of its shim. */
  const owner = async (work: string): Promise<Owner> => {
    const program = `
      import { mkdirSync, openSync } from 'node:fs';
      const { runKept } = await import(${shimModule});
      const run = (name, script) => {
        const folder = ${JSON.stringify(root)} + '/' + name;
        mkdirSync(folder);
        const [cwd, env, umask] = [folder, { PATH: process.env.PATH }, '022'];
        const descriptors = [openSync('/dev/null'), openSync(folder + '/out', 'a'), openSync(folder + '/err', 'a')];
        const argv = ['/bin/sh', '-c', script];
        return runKept({ sharedBy: 'a', folder, hasFiles: true, argv, cwd, env, umask, descriptors });
      };
      ${work}
    `;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const said: unknown = await inTime('the pid of its shim', once(child.stdout, 'data'));
    const ended = new Promise<number | null>((resolve) => {
      child.once('exit', resolve);
    });
    const kill = async (): Promise<void> => {
      child.kill('SIGKILL');
      await ended;
    };
    return { shim: Number(String(said)), kill, ended };
  };

  it('finishes what it runs, writes the exit status and exits when its owner is killed', async () => {
    const { shim, kill } = await owner(
      `const { birth } = await run('run', 'echo up >up; until [ -e go ]; do sleep 0.01; done; exit 4'); console.log(birth.pid);`,
    );
    await made('run', 'up');
    await kill();
    expect(procfs.alive([shim])).toEqual([shim]);
    writeFileSync(join(root, 'run', 'go'), '');
    await gone(shim);
    expect(readFileSync(join(root, 'run', 'exit'), 'utf8')).toBe('4\n');
  });

  it('lets its owner wait for the end, also if it is killed', async () => {
    const { shim, ended } = await owner(`
      const kept = await run('run', 'sleep 300');
      console.log(kept.birth.pid);
      process.exitCode = (await kept.ended) === null ? 7 : 8;
    `);
    process.kill(-shim, 'SIGKILL');
    expect(await ended).toBe(7);
  });

  it('starts nothing that it had not begun when its owner is killed', async () => {
    const { shim, kill } = await owner(`
      const first = await run('first', 'true');
      await first.ended;
      first.free(true);
      process.kill(first.birth.pid, 'SIGSTOP');
      void run('second', 'true');
      console.log(first.birth.pid);
    `);
    await kill();
    process.kill(shim, 'SIGCONT');
    await gone(shim);
    expect(existsSync(join(root, 'first', 'exit'))).toBe(true);
    expect(existsSync(join(root, 'second', 'started'))).toBe(false);
  });
});
