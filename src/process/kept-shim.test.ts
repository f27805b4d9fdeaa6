import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runKept, type KeptCommand, type KeptRun } from './kept-shim.ts';
import { procfs } from './procfs.ts';

let root: string;
let runs: KeptRun[];
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'ralph-kept-'));
  runs = [];
});
afterEach(async () => {
  for (const run of runs) run.free(false);
  await Promise.all(runs.map(({ pid }) => gone(pid)));
  rmSync(root, { recursive: true, force: true });
});

const gone = async (pid: number): Promise<void> => {
  // oxlint-disable-next-line no-await-in-loop -- polls
  while (procfs.alive([pid]).length > 0) await sleep(2);
};
const output = (name: string): string => readFileSync(join(root, name, 'out'), 'utf8');

/** Runs a program with its files in a folder of its own. */
const run = (
  name: string,
  argv: readonly [string, ...string[]],
  more: Partial<KeptCommand> = {},
): KeptRun => {
  const folder = join(root, name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'in'), 'input\n');
  const kept = runKept({
    sharedBy: root,
    folder,
    hasFiles: true,
    argv,
    cwd: root,
    env: { PATH: process.env['PATH'] ?? '' },
    umask: '022',
    descriptors: [
      openSync(join(folder, 'in'), 'r'),
      openSync(join(folder, 'out'), 'a'),
      openSync(join(folder, 'err'), 'a'),
    ],
    ...more,
  });
  if (kept === null) throw new Error('it is not kept');
  runs.push(kept);
  return kept;
};

describe('a shim that is kept', () => {
  it('runs the commands of a loop one after the other, and those of another loop behind another shim', async () => {
    const first = run('1', ['/bin/sh', '-c', 'cat; exit 3']);
    expect(await first.ended).toBe(3);
    expect(output('1')).toBe('input\n');
    expect(readFileSync(join(root, '1', 'exit'), 'utf8')).toBe('3\n');
    first.free(true);
    const second = run('2', ['/bin/sh', '-c', 'echo again']);
    const other = run('3', ['/bin/sh', '-c', 'echo other'], { sharedBy: `${root}/other` });
    expect(await second.ended).toBe(0);
    expect(await other.ended).toBe(0);
    expect(output('2')).toBe('again\n');
    expect(second.pid).toBe(first.pid);
    expect(other.pid).not.toBe(first.pid);
  });

  it('is not used again before its run has been swept, nor after a process had to be ended', async () => {
    const first = run('1', ['/bin/true']);
    await first.ended;
    expect(() => run('2', ['/bin/true'])).toThrow('it is not kept');
    first.free(false);
    const second = run('3', ['/bin/true']);
    expect(second.pid).not.toBe(first.pid);
    expect(await second.ended).toBe(0);
    await gone(first.pid);
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
      const kept = run(name, argv, { env: { ...env, ...more } });
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect(await kept.ended).toBe(0);
      const { A, B } = more;
      expect(JSON.parse(output(name))).toEqual([[odd, ''], A, B, name === '1' ? 'x' : null]);
      kept.free(true);
    }
  });

  it('gives a program exactly its environment, its umask and no other descriptors', async () => {
    const env = { PATH: process.env['PATH'] ?? '', PWD: '/nowhere', A: 'b' };
    const program = [
      '/bin/sh',
      '-c',
      'umask; cat /proc/self/environ | tr "\\0" "\\n"; ls /proc/self/fd',
    ] as const;
    const kept = run('1', program, { env, umask: '027' });
    await kept.ended;
    const lines = output('1').trim().split('\n');
    const own = spawnSync(program[0], program.slice(1), { cwd: root, env, encoding: 'utf8' }).stdout;
    expect(lines[0]).toBe('0027');
    expect(lines.slice(1).toSorted()).toEqual(own.trim().split('\n').slice(1).toSorted());
  });

  it('keeps the name that a person has for the working directory', async () => {
    symlinkSync(root, join(root, 'link'));
    const kept = run('1', ['/bin/sh', '-c', 'echo $PWD'], { env: { PWD: join(root, 'link') } });
    await kept.ended;
    expect(output('1')).toBe(`${join(root, 'link')}\n`);
  });

  it('starts nothing in a folder where something was started', async () => {
    const first = run('1', ['/bin/sh', '-c', 'echo ran']);
    await first.ended;
    first.free(true);
    const second = run('1', ['/bin/sh', '-c', 'echo ran']);
    expect(await second.ended).toBeNull();
    expect(output('1')).toBe('ran\n');
  });

  it('leaves a command that it cannot pass on to others', () => {
    expect(() => run('1', ['/bin/true'], { env: { 'not-a-name': 'x' } })).toThrow('it is not kept');
    expect(() => run('2', ['/bin/true'], { cwd: join(root, 'missing') })).toThrow('it is not kept');
    expect(() => run('3', ['/bin/echo', 'x'.repeat(200_000)])).toThrow('it is not kept');
  });

  it('reports that it was killed, and is replaced', async () => {
    const first = run('1', ['/bin/sleep', '300']);
    // oxlint-disable-next-line no-await-in-loop -- polls
    while (!existsSync(join(root, '1', 'started'))) await sleep(1);
    process.kill(-first.pid, 'SIGKILL');
    expect(await first.ended).toBeNull();
    expect(first.hasEnded()).toBe(true);
    const second = run('2', ['/bin/true']);
    expect(await second.ended).toBe(0);
  });

  it('exits when it has had nothing to do for a moment', async () => {
    const kept = run('1', ['/bin/true']);
    await kept.ended;
    kept.free(true);
    await gone(kept.pid);
    const next = run('2', ['/bin/true']);
    expect(await next.ended).toBe(0);
    expect(next.pid).not.toBe(kept.pid);
  });

  it('names the folder of what it runs to the processes below it', async () => {
    const first = run('1', ['/bin/true']);
    await first.ended;
    first.free(true);
    run('2', ['/bin/sh', '-c', 'echo $$; exec sleep 300']);
    // oxlint-disable-next-line no-await-in-loop -- polls
    while (output('2') === '') await sleep(1);
    const [parent] = procfs.ancestors(Number(output('2')));
    expect(parent).toMatchObject({ pid: first.pid, shim: join(root, '2') });
    process.kill(Number(output('2')), 'SIGKILL');
  });
});

describe('a shim that is kept, when its owner is killed', () => {
  const shimModule = JSON.stringify(new URL('../../dist/process/kept-shim.js', import.meta.url).href);
  /** Starts an owner that does something with `run`, and prints the pid of its shim. */
  const owner = async (work: string): Promise<{ shim: number; kill: () => Promise<void> }> => {
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
      setInterval(() => {}, 1000);
    `;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const said = await new Promise((resolve) => {
      child.stdout.once('data', resolve);
    });
    const kill = async (): Promise<void> => {
      child.kill('SIGKILL');
      await once(child, 'exit');
    };
    return { shim: Number(String(said)), kill };
  };

  it('finishes what it runs, writes the exit status and exits', async () => {
    const { shim, kill } = await owner(
      `const { pid } = run('run', 'echo up >up; until [ -e go ]; do sleep 0.01; done; exit 4'); console.log(pid);`,
    );
    // oxlint-disable-next-line no-await-in-loop -- polls
    while (!existsSync(join(root, 'run', 'up'))) await sleep(1);
    await kill();
    expect(procfs.alive([shim])).toEqual([shim]);
    writeFileSync(join(root, 'run', 'go'), '');
    await gone(shim);
    expect(readFileSync(join(root, 'run', 'exit'), 'utf8')).toBe('4\n');
  });

  it('starts nothing that it had not begun', async () => {
    const { shim, kill } = await owner(`
      const first = run('first', 'true');
      await first.ended;
      first.free(true);
      process.kill(first.pid, 'SIGSTOP');
      const { pid } = run('second', 'true');
      console.log(pid);
    `);
    await kill();
    process.kill(shim, 'SIGCONT');
    await gone(shim);
    expect(existsSync(join(root, 'first', 'exit'))).toBe(true);
    expect(existsSync(join(root, 'second', 'started'))).toBe(false);
  });
});
