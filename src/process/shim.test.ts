import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { procfs } from './procfs.ts';
import { exitStatus, shimPid } from './shim-files.ts';
import { startShim, type Shim } from './shim.ts';
import { stopRun } from './stop.ts';
import type { Birth, Marker } from './process-table.ts';

/** A shim of its own, and one that stays for other commands. */
const KINDS = [
  ['a shim', undefined],
  ['a shim that is kept', 'a-loop'],
] as const;

let folder: string;
let marker: Marker;
let sharedBy: string | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ralph-shim-'));
  marker = { name: 'RALPH_RUN_ID', value: folder };
});
afterEach(async () => {
  for (const shim of started.splice(0)) shim.kept?.free(false);
  const pids = await procfs.marked(marker);
  for (const pid of pids) process.kill(pid, 'SIGKILL');
  rmSync(folder, { recursive: true, force: true });
  if (pids.length > 0) throw new Error(`left running: ${pids.join(', ')}`);
});

const file = (name: string) => join(folder, name);
const started: Shim[] = [];
const start = (script: string): Shim => {
  const shim = startShim({
    folder,
    argv: ['/bin/sh', '-c', script],
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', RALPH_RUN_ID: folder },
    stdin: existsSync(file('in')) ? file('in') : null,
    stdout: file('out'),
    stderr: file('err'),
    sharedBy,
  });
  started.push(shim);
  return shim;
};
/** What `stopRun` needs to know of a shim that is kept. */
const stopping = ({ kept }: Shim, graceMs: number) => ({
  marker,
  folder,
  graceMs,
  after: kept?.after,
  hasEnded: kept?.hasEnded,
});
const birthOf = ({ pid }: Shim): Birth => {
  const birth = procfs.birth(pid);
  if (birth === null) throw new Error('the shim is gone');
  return birth;
};
/** Waits until the agent has printed this text. */
const says = async (text: string): Promise<void> => {
  // oxlint-disable-next-line no-await-in-loop -- polls
  while (!(existsSync(file('out')) && readFileSync(file('out'), 'utf8').includes(text))) await sleep(1);
};

describe.each(KINDS)('%s', (_kind, loop) => {
  beforeEach(() => {
    sharedBy = loop;
  });

  it('is kept if its loop is named', async () => {
    const shim = start('true');
    await shim.ended;
    expect(shim.kept !== null).toBe(loop !== undefined);
    shim.kept?.free(true);
  });

  it('connects the agent to files and writes its exit status', async () => {
    writeFileSync(file('in'), 'prompt');
    const shim = start('cat; echo oops >&2; exit 7');
    await shim.ended;
    expect(readFileSync(file('out'), 'utf8')).toBe('prompt');
    expect(readFileSync(file('err'), 'utf8')).toBe('oops\n');
    expect(exitStatus(folder)).toBe(7);
    expect(shimPid(folder)).toBe(shim.pid);
  });

  it('runs the agent at most once, however often it is started', async () => {
    const first = start('echo ran');
    await first.ended;
    const second = start('echo ran');
    await second.ended;
    expect(readFileSync(file('out'), 'utf8')).toBe('ran\n');
    expect(shimPid(folder)).toBe(first.pid);
  });

  it('survives a signal to its process group that ends the agent', async () => {
    const shim = start('echo ready; exec sleep 300');
    await says('ready');
    process.kill(-shim.pid, 'SIGTERM');
    await shim.ended;
    expect(exitStatus(folder)).toBe(143);
  });

  it.each(['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM'] as const)(
    'lets the agent handle %s itself',
    async (name) => {
      const shim = start(
        `trap 'echo caught; exit 0' ${name.slice(3)}; echo ready; while :; do sleep 0.01; done`,
      );
      await says('ready');
      process.kill(-shim.pid, name);
      await shim.ended;
      expect(readFileSync(file('out'), 'utf8')).toContain('caught');
    },
  );

  it('is stopped with its agent, however early', async () => {
    for (let ms = 0; ms < 6; ms++) {
      const shim = start('sleep 60');
      const birth = birthOf(shim);
      /* oxlint-disable no-await-in-loop -- one after the other */
      if (ms > 0) await sleep(ms);
      await stopRun({ shim: birth, ...stopping(shim, 5000) }, procfs);
      expect(await procfs.marked(marker)).toEqual([]);
      await shim.ended;
      rmSync(file('started'), { force: true });
      /* oxlint-enable no-await-in-loop */
    }
  });

  it('has no exit status while the agent runs, or after the shim was killed', async () => {
    const shim = start('echo ready; exec sleep 300');
    await says('ready');
    expect(exitStatus(folder)).toBeNull();
    process.kill(shim.pid, 'SIGKILL');
    await shim.ended;
    expect(exitStatus(folder)).toBeNull();
    await stopRun(
      { shim: { pid: shim.pid, startTime: '0', bootId: '', pidNamespace: '' }, ...stopping(shim, 0) },
      procfs,
    );
  });
});

describe.each(KINDS)('stopRun with %s', (_kind, loop) => {
  beforeEach(() => {
    sharedBy = loop;
  });

  it('ends a cooperative agent with SIGTERM and does not signal the shim', async () => {
    const shim = start('echo ready; exec sleep 300');
    const birth = birthOf(shim);
    await says('ready');
    const { ended } = await stopRun({ shim: birth, ...stopping(shim, 60_000) }, procfs);
    await shim.ended;
    expect(ended).not.toContain(shim.pid);
    expect(exitStatus(folder)).toBe(143);
  });

  it('kills an agent that ignores SIGTERM, and its children, after the grace', async () => {
    const shim = start(`trap '' TERM; sleep 300 & echo ready; while :; do sleep 0.05; done`);
    const birth = birthOf(shim);
    await says('ready');
    await stopRun({ shim: birth, ...stopping(shim, 50) }, procfs);
    await shim.ended;
    expect(exitStatus(folder)).toBe(137);
    expect(await procfs.marked(marker)).toEqual([]);
  });

  it('ends a process that left the process group and the session', async () => {
    const shim = start('setsid sh -c "echo away; exec sleep 300" & wait');
    const birth = birthOf(shim);
    await says('away');
    await stopRun({ shim: birth, ...stopping(shim, 5000) }, procfs);
    await shim.ended;
    expect(await procfs.marked(marker)).toEqual([]);
  });

  it('ends processes that a finished agent left running', async () => {
    const shim = start('sleep 300 & setsid sleep 300 & until [ -e go ]; do sleep 0.01; done');
    const birth = birthOf(shim);
    writeFileSync(file('go'), '');
    await shim.ended;
    expect(exitStatus(folder)).toBe(0);
    expect((await stopRun({ shim: birth, ...stopping(shim, 5000) }, procfs)).ended).toHaveLength(2);
  });
});
