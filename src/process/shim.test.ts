import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { until } from '../../test/rig/cli/until.ts';
import { procfs } from './procfs.ts';
import { exitStatus, shimPid, startShim, type Shim, type ShimSpec } from './shim.ts';
import { stopRun, type Stopped } from './stop.ts';
import type { Marker } from './process-table.ts';

let folder: string;
let marker: Marker;
let started: Shim[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ralph-shim-'));
  marker = { name: 'RALPH_RUN_ID', value: folder };
  started = [];
});
afterEach(async () => {
  await Promise.all(started.map((shim) => stop(shim, 0)));
  const pids = await procfs.marked(marker);
  for (const pid of pids) process.kill(pid, 'SIGKILL');
  rmSync(folder, { recursive: true, force: true });
  if (pids.length > 0) throw new Error(`left running: ${pids.join(', ')}`);
});

const file = (name: string) => join(folder, name);
const start = async (script: string, more: Partial<ShimSpec> = {}): Promise<Shim> => {
  const shim = await startShim(
    {
      folder,
      argv: ['/bin/sh', '-c', script],
      cwd: folder,
      env: env(),
      stdin: existsSync(file('in')) ? file('in') : null,
      stdout: file('out'),
      stderr: file('err'),
      ...more,
    },
    procfs,
  );
  started.push(shim);
  return shim;
};
const env = () => ({ PATH: process.env['PATH'] ?? '', RALPH_RUN_ID: folder });
const stop = (shim: Shim, graceMs: number): Promise<Stopped> =>
  stopRun({ shim: shim.birth, marker, folder, graceMs }, procfs);
const output = (): string => readFileSync(file('out'), 'utf8');
/** Waits until the agent has printed this text. */
const says = (text: string): Promise<true> => {
  const look = (): true | null =>
    (existsSync(file('out')) && readFileSync(file('out'), 'utf8').includes(text)) || null;
  return until(`${text} from the agent`, look, { everyMs: 1 });
};

describe('a shim', () => {
  it('connects the agent to files and writes its exit status', async () => {
    writeFileSync(file('in'), 'prompt');
    const shim = await start('cat; echo oops >&2; exit 7');
    await shim.ended;
    expect(output()).toBe('prompt');
    expect(readFileSync(file('err'), 'utf8')).toBe('oops\n');
    expect(exitStatus(folder)).toBe(7);
    expect(shimPid(folder)).toBe(shim.birth.pid);
  });

  it('passes on words, variables and the umask as they are', async () => {
    const odd = `a'b"c $HOME \`id\` \\ ; & | > < * ? # ~ \n\t é 你`;
    const script = 'console.log(JSON.stringify([process.argv.slice(1), process.env, process.umask()]))';
    const given = { ...env(), A: odd, OLDPWD: '/old', RALPH_UMASK: '027' };
    const shim = await start('', { argv: [process.execPath, '-e', script, odd, ''], env: given });
    expect(await shim.ended).toBe(0);
    const { RALPH_UMASK, ...passedOn } = given;
    const seen: unknown = JSON.parse(output());
    expect(seen).toEqual([[odd, ''], expect.objectContaining(passedOn), Number.parseInt(RALPH_UMASK, 8)]);
    expect(seen).not.toHaveProperty('1.RALPH_UMASK');
  });

  it('keeps the name that a person has for the working directory', async () => {
    symlinkSync(folder, file('link'));
    const shim = await start('echo $PWD', { env: { ...env(), PWD: file('link') } });
    await shim.ended;
    expect(output()).toBe(`${file('link')}\n`);
  });

  it('runs the agent at most once, however often it is started', async () => {
    const first = await start('echo ran');
    await first.ended;
    await stop(first, 0);
    const second = await start('echo ran');
    await second.ended;
    expect(output()).toBe('ran\n');
    expect(shimPid(folder)).toBe(first.birth.pid);
  });

  it('survives a signal to its process group that ends the agent', async () => {
    const shim = await start('echo ready; exec sleep 300');
    await says('ready');
    process.kill(-shim.birth.pid, 'SIGTERM');
    await shim.ended;
    expect(exitStatus(folder)).toBe(143);
  });

  it.each(['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM'] as const)(
    'lets the agent handle %s itself',
    async (name) => {
      const shim = await start(
        `trap 'echo caught; exit 0' ${name.slice(3)}; echo ready; while :; do sleep 0.01; done`,
      );
      await says('ready');
      process.kill(-shim.birth.pid, name);
      await shim.ended;
      expect(output()).toContain('caught');
    },
  );

  it('is stopped with its agent, however early', async () => {
    for (let ms = 0; ms < 6; ms++) {
      /* oxlint-disable no-await-in-loop -- one after the other */
      const shim = await start('sleep 60');
      if (ms > 0) await sleep(ms);
      await stop(shim, 5000);
      expect(await procfs.marked(marker)).toEqual([]);
      await shim.ended;
      rmSync(file('started'), { force: true });
      /* oxlint-enable no-await-in-loop */
    }
  });

  it('has no exit status while the agent runs, or after the shim was killed', async () => {
    const shim = await start('echo ready; exec sleep 300');
    await says('ready');
    expect(exitStatus(folder)).toBeNull();
    process.kill(shim.birth.pid, 'SIGKILL');
    await shim.ended;
    expect(exitStatus(folder)).toBeNull();
    await stopRun(
      {
        shim: { pid: shim.birth.pid, startTime: '0', bootId: '', pidNamespace: '' },
        marker,
        folder,
        graceMs: 0,
      },
      procfs,
    );
  });
});

describe('stopRun', () => {
  it('ends a cooperative agent with SIGTERM and does not signal the shim', async () => {
    const shim = await start('echo ready; exec sleep 300');
    await says('ready');
    const { ended } = await stop(shim, 60_000);
    await shim.ended;
    expect(ended).not.toContain(shim.birth.pid);
    expect(exitStatus(folder)).toBe(143);
  });

  it('kills an agent that ignores SIGTERM, and its children, after the grace', async () => {
    const shim = await start(`trap '' TERM; sleep 300 & echo ready; while :; do sleep 0.05; done`);
    await says('ready');
    await stop(shim, 50);
    await shim.ended;
    expect(exitStatus(folder)).toBe(137);
    expect(await procfs.marked(marker)).toEqual([]);
  });

  it('ends a process that left the process group and the session', { tags: ['setsid'] }, async () => {
    const shim = await start('setsid sh -c "echo away; exec sleep 300" & wait');
    await says('away');
    await stop(shim, 5000);
    await shim.ended;
    expect(await procfs.marked(marker)).toEqual([]);
  });

  it('ends processes that a finished agent left running', { tags: ['setsid'] }, async () => {
    const shim = await start('sleep 300 & setsid sleep 300 & until [ -e go ]; do sleep 0.01; done');
    writeFileSync(file('go'), '');
    await shim.ended;
    expect(exitStatus(folder)).toBe(0);
    expect((await stop(shim, 5000)).ended).toHaveLength(2);
  });
});
