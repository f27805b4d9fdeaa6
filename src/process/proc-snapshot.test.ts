import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { snapshotOfAll, ProcSnapshot } from './proc-snapshot.ts';
import { sweepAll } from './proc-sweep.ts';
import { procfs } from './procfs.ts';

let folder: string;
let children: ChildProcess[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ralph-snapshot-'));
  children = [];
});
afterEach(async () => {
  for (const pid of await procfs.marked(marker())) process.kill(pid, 'SIGKILL');
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

const NAMES = new Set(['RALPH_RUN_ID']);
const marker = () => ({ name: 'RALPH_RUN_ID', value: folder });
const marked = () => ({ PATH: process.env['PATH'], RALPH_RUN_ID: folder });
const start = async (script: string, env: NodeJS.ProcessEnv): Promise<ChildProcess> => {
  const child = spawn('/bin/sh', ['-c', script], { env, stdio: ['pipe', 'pipe', 'ignore'] });
  children.push(child);
  await once(child, 'spawn');
  return child;
};
const pids = (found: readonly { readonly pid: number }[]): readonly number[] => found.map(({ pid }) => pid);

describe('a snapshot of all processes', () => {
  it('finds the child of a process that exited between the listing and its reading', async () => {
    const parent = await start('read go; sleep 300 >/dev/null & echo $!', marked());
    const output = once(parent.stdout ?? parent, 'data');
    let hasForked = false;
    const snapshot = await snapshotOfAll(new Map(), NAMES, {
      async pause() {
        if (hasForked) return;
        hasForked = true;
        parent.stdin?.end('go\n');
        await once(parent, 'exit');
      },
    });
    const child = Number(String(await output));
    expect(pids(snapshot.marked(marker()))).toEqual([child]);
    expect(snapshot.lost).toEqual([]);
  });

  it('makes a sweep incomplete if it has lost a process, unless that is older than the run', async () => {
    const shim = procfs.birth((await start('read go', marked())).pid ?? 0);
    if (shim === null) throw new Error('the process is gone');
    const sweep = (lost: number): number =>
      sweepAll({ shim, marker: marker(), folder }, new ProcSnapshot(new Map(), [lost], shim.pid + 10))
        .vanished;
    expect([sweep(shim.pid + 1), sweep(shim.pid - 1)]).toEqual([1, 0]);
  });

  it('reads the environment of a process again after an exec', async () => {
    const child = await start('read go; exec env RALPH_RUN_ID="$0" sh -c "echo up; read go"', {
      PATH: process.env['PATH'],
    });
    const before = await snapshotOfAll(new Map(), NAMES);
    expect(before.all.get(child.pid ?? 0)?.markers).toEqual([]);
    const up = once(child.stdout ?? child, 'data');
    child.stdin?.write('go\n');
    await up;
    const after = await snapshotOfAll(before.all, NAMES);
    expect(after.all.get(child.pid ?? 0)?.markers).toEqual(['RALPH_RUN_ID=/bin/sh']);
  });

  it('finds a process that started before the question was asked, however many ask', async () => {
    const asked: Promise<readonly number[]>[] = [];
    const started: number[] = [];
    for (let index = 0; index < 5; index++) {
      // oxlint-disable-next-line no-await-in-loop -- each question follows the start of one process
      started.push((await start('read go', marked())).pid ?? 0);
      asked.push(procfs.marked(marker()));
    }
    const answers = await Promise.all(asked);
    for (const [index, pid] of started.entries()) expect(answers[index]).toContain(pid);
  });
});
