import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { until } from '../../test/rig/cli/until.ts';
import { procfs } from './procfs.ts';
import { runLogged } from './logged.ts';
import { exitStatus, startShim, type Shim } from './shim.ts';
import { NAMESPACE_FILE, wrapped, type Wrapper } from './sandboxed.ts';
import { stopRun, type Stopped } from './stop.ts';

let folder: string;
const sandbox: Wrapper = {
  kind: 'namespace',
  command: ['bwrap', '--dev-bind', '/', '/', '--proc', '/proc'],
  graceMs: 2000,
  mounts: [],
};
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ralph-sandboxed-'));
});
afterEach(async () => {
  const left = await procfs.marked(marker());
  for (const pid of left) process.kill(pid, 'SIGKILL');
  rmSync(folder, { recursive: true, force: true });
  if (left.length > 0) throw new Error(`left running: ${left.join(', ')}`);
});

const marker = () => ({ name: 'RALPH_RUN_ID', value: folder });
const file = (name: string): string => join(folder, name);
const env = () => ({ PATH: process.env['PATH'] ?? '', RALPH_RUN_ID: folder });
const start = (script: string): Promise<Shim> =>
  startShim(
    {
      folder,
      argv: ['/bin/sh', '-c', script],
      cwd: folder,
      env: env(),
      stdin: null,
      stdout: file('out'),
      stderr: file('err'),
      sandbox,
    },
    procfs,
  );
const stop = (shim: Shim, graceMs = 5000): Promise<Stopped> =>
  stopRun(
    {
      shim: shim.birth,
      marker: marker(),
      folder,
      namespaceFile: file(NAMESPACE_FILE),
      graceMs,
    },
    procfs,
  );
const read = (name: string): string => (existsSync(file(name)) ? readFileSync(file(name), 'utf8') : '');
/** Waits until the program has said that it is up; fails if it ends without that. */
const isUp = (shim: Shim): Promise<true> => {
  let hasEnded = false;
  void shim.ended.then(() => (hasEnded = true));
  const look = (): true | null => {
    if (read('out').includes('up')) return true;
    if (hasEnded) throw new Error(`it ended before it was up: ${read('err')}`);
    return null;
  };
  return until('the program to be up', look, { everyMs: 2, seen: () => read('err') });
};
/** A process that hides: its own session, no parent, no environment. It changes `alive` as long as it lives. */
const HIDDEN = (alive: string): string =>
  `env -i /bin/sh -c 'setsid /bin/sh -c "while :; do echo x >>${alive}; sleep 0.02; done" >/dev/null 2>&1 &'; ` +
  `while [ ! -e ${alive} ]; do sleep 0.01; done;`;
/** Whether nothing appends to the file any more. */
const isDead = async (name: string): Promise<boolean> => {
  const before = read(name).length;
  await sleep(150);
  return read(name).length === before;
};

describe('a program in a PID namespace', { tags: ['bwrap', 'setsid'] }, () => {
  it('has its own output and its own exit status, also if a signal ended it', async () => {
    await (
      await start('echo out; echo err >&2; exit 7')
    ).ended;
    expect([exitStatus(folder), read('out'), read('err')]).toEqual([7, 'out\n', 'err\n']);
    rmSync(folder, { recursive: true });
    folder = mkdtempSync(join(tmpdir(), 'ralph-sandboxed-'));
    await (
      await start('kill -9 $$')
    ).ended;
    expect(exitStatus(folder)).toBe(137);
  });

  it('leaves nothing behind, also not a process without environment, parent and session', async () => {
    await (
      await start(`${HIDDEN(file('alive'))} exit 3`)
    ).ended;
    expect(exitStatus(folder)).toBe(3);
    expect(await isDead('alive')).toBe(true);
  });

  it('gets SIGTERM and its whole grace; the exit status is written when it is over', async () => {
    const shim = await start(
      'trap "sleep 0.5; echo late; exit 9" TERM; echo up; while :; do sleep 0.02; done',
    );
    await isUp(shim);
    const { strays } = await stop(shim);
    expect(read('out')).toBe('up\nlate\n');
    expect(exitStatus(folder)).toBe(9);
    expect(strays).toEqual([]);
  });

  it('survives the end of bubblewrap itself, and still reports its status', async () => {
    const shim = await start('echo up; sleep 0.4; echo late; exit 5');
    await isUp(shim);
    const group = (await procfs.left({ shim: shim.birth, marker: marker(), folder })).pids;
    const isBubblewrap = (pid: number): boolean =>
      readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'bwrap';
    for (const pid of group.filter(isBubblewrap)) process.kill(pid, 'SIGTERM');
    await shim.ended;
    expect([exitStatus(folder), read('out')]).toEqual([5, 'up\nlate\n']);
  });

  it('is killed after the grace with everything that hides in it', async () => {
    const shim = await start(`trap "" TERM; ${HIDDEN(file('alive'))} echo up; while :; do sleep 0.02; done`);
    await isUp(shim);
    await stop(shim, 100);
    expect(exitStatus(folder)).toBe(137);
    expect(await isDead('alive')).toBe(true);
  });

  it('has its own exit status, also if something that it left behind had to be killed', async () => {
    const stubborn = `env -i setsid /bin/sh -c 'trap "" TERM; echo x >${file('alive')}; while :; do sleep 0.02; done' &`;
    const shim = await start(
      `trap "exit 4" TERM; ${stubborn} while [ ! -e ${file('alive')} ]; do sleep 0.01; done; echo up; while :; do sleep 0.02; done`,
    );
    await isUp(shim);
    await stop(shim, 200);
    expect(exitStatus(folder)).toBe(4);
  });

  it('passes SIGTERM to what hides in it while the agent is still alive', async () => {
    const gentle = `env -i setsid /bin/sh -c 'trap "echo x >${file('bye')}; exit 0" TERM; echo x >${file('alive')}; while :; do sleep 0.02; done' &`;
    const waits = `trap 'while [ ! -e ${file('bye')} ]; do sleep 0.02; done; exit 8' TERM;`;
    const shim = await start(
      `${waits} ${gentle} while [ ! -e ${file('alive')} ]; do sleep 0.01; done; echo up; while :; do sleep 0.02; done`,
    );
    await isUp(shim);
    await stop(shim, 3000);
    expect(exitStatus(folder)).toBe(8);
  });

  it('cannot end the first process of its namespace', async () => {
    await (
      await start('kill -9 $PPID; kill -9 1; exit 6')
    ).ended;
    expect(exitStatus(folder)).toBe(6);
  });

  it('does not reach its shim with a signal to its own group', async () => {
    await (
      await start('kill -9 0')
    ).ended;
    expect(exitStatus(folder)).toBe(137);
  });

  it('runs a check that times out, and ends all of it', async () => {
    const check = {
      argv: ['/bin/sh', '-c', `${HIDDEN(file('alive'))} sleep 60`] as const,
      cwd: folder,
      env: env(),
      marker: { name: 'RALPH_RUN_ID', value: folder },
      log: file('check.log'),
      timeoutMs: 300,
      maxBytes: null,
      graceMs: 100,
      sandbox,
    };
    const result = await runLogged(check, procfs, new AbortController().signal);
    expect(result).toMatchObject({ code: null, timedOut: true });
    expect(await isDead('alive')).toBe(true);
  });

  it('reports what bubblewrap says if the sandbox cannot be made', async () => {
    const broken: Wrapper = { ...sandbox, command: ['bwrap', '--bind', '/does/not/exist', '/'] };
    const shim = await startShim(
      {
        folder,
        argv: ['/bin/true'],
        cwd: folder,
        env: env(),
        stdin: null,
        stdout: file('out'),
        stderr: file('err'),
        sandbox: broken,
      },
      procfs,
    );
    await shim.ended;
    expect(exitStatus(folder)).toBe(1);
    expect(read('err')).toContain("Can't find source path /does/not/exist");
  });
});

it('a program is put behind a prefix on systems without namespaces', () => {
  expect(wrapped({ kind: 'prefix', command: ['sandbox-exec', '-p', '…'] }, ['claude', '-p'])).toEqual([
    'sandbox-exec',
    '-p',
    '…',
    'claude',
    '-p',
  ]);
});
