import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { until } from '../../test/rig/cli/until.ts';
import { procfs } from './procfs.ts';
import { ps } from './ps.ts';
import { startShim } from './shim.ts';
import type { Marker } from './process-table.ts';

let folder: string;
let child: ChildProcess;
let pid: number;
let marker: Marker;
beforeEach(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'ralph-table-')));
  marker = { name: 'RALPH_RUN_ID', value: folder };
  const env = { PATH: process.env['PATH'], RALPH_RUN_ID: folder };
  child = spawn('sleep', ['300'], { env, cwd: folder, detached: true, stdio: 'ignore' });
  await new Promise((resolve) => child.once('spawn', resolve));
  pid = child.pid ?? 0;
});
afterEach(async () => {
  const gone = new Promise((resolve) => child.once('exit', resolve));
  if (child.kill('SIGKILL')) await gone;
  rmSync(folder, { recursive: true, force: true });
});
const kill = async (): Promise<void> => {
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await gone;
};

const childrenOf = (parent: number): readonly number[] =>
  readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8')
    .trim()
    .split(' ')
    .filter(Boolean)
    .map(Number);

const TABLES = [
  { source: '/proc', table: procfs, tags: [] },
  { source: 'ps', table: ps, tags: ['ps'] },
];
for (const { source, table, tags } of TABLES)
  describe(`the process table from ${source}`, { tags }, () => {
    it('finds the remaining processes of a run by process group and marker, without the shim', async () => {
      const shim = table.birth(pid);
      if (shim === null) throw new Error('the process is gone');
      const env = { PATH: process.env['PATH'], RALPH_RUN_ID: folder };
      const away = spawn('sleep', ['300'], { env, cwd: folder, detached: true, stdio: 'ignore' });
      await new Promise((resolve) => away.once('spawn', resolve));
      const gone = new Promise((resolve) => away.once('exit', resolve));
      expect(await table.left({ shim, marker, folder })).toMatchObject({ pids: [away.pid] });
      expect(await table.left({ shim, marker: { ...marker, value: `${folder}2` }, folder })).toMatchObject({
        pids: [],
      });
      away.kill('SIGKILL');
      await gone;
      expect(await table.left({ shim, marker, folder })).toMatchObject({ pids: [] });
    });

    it('spares process groups with everything below them, except for the group of the run itself', async () => {
      const shim = table.birth(pid);
      if (shim === null) throw new Error('the process is gone');
      const env = { PATH: process.env['PATH'], RALPH_RUN_ID: folder };
      // A group, and below it another one.
      const line = `"${process.execPath}" -e "require('node:child_process').spawn('sleep', ['300'], { detached: true })"; :`;
      const away = spawn('/bin/sh', ['-c', line], { env, cwd: folder, detached: true, stdio: 'ignore' });
      const gone = new Promise((resolve) => away.once('exit', resolve));
      const left = async (...spared: readonly number[]): Promise<readonly number[]> =>
        (await table.left({ shim, marker, folder, spared })).pids;
      await expect.poll(async () => (await left()).length, { timeout: 20_000 }).toBe(3);
      const all = await left();
      expect(await left(away.pid ?? 0)).toEqual([]);
      expect(await left(pid)).toEqual(all);
      const below = all.filter((one) => one !== away.pid);
      expect((await left(...below)).length).toBe(2);
      for (const one of all) process.kill(one, 'SIGKILL');
      await gone;
    });

    it('lists the ancestors of a process, with shims and variables', async () => {
      const run = join(folder, 'run with blanks');
      mkdirSync(run);
      const [stdout, stderr] = [join(run, 'out'), join(run, 'err')];
      const env = {
        PATH: process.env['PATH'] ?? '',
        RALPH_RUN_ID: 'it-1.1',
        RALPH_LOOP_FOLDER: run,
        LAST: '1',
      };
      const waits = ['/usr/bin/env', '-i', '/bin/sh', '-c', 'sleep 300; :'] as const;
      const shim = await startShim(
        { folder: run, argv: waits, cwd: run, env, stdin: null, stdout, stderr },
        table,
      );
      const { pid: shimPid } = shim.birth;
      const ofAgent = (): readonly number[] => childrenOf(shimPid).flatMap(childrenOf);
      await until('a child of the agent', () => ofAgent().length > 0 || null, { everyMs: 5 });
      const inner = ofAgent();
      const found = table.ancestors(inner[0] ?? 0);
      const at = found.findIndex(({ pid: one }) => one === shimPid);
      const [above] = found.slice(at + 1);
      expect(at).toBeGreaterThan(0);
      expect(above?.pid).toBe(process.pid);
      expect(found[at]?.variable('RALPH_RUN_ID')).toBe('it-1.1');
      expect(found[at]?.variable('RALPH_LOOP_FOLDER')).toBe(run);
      expect(found[at]?.variable('RUN_ID')).toBe(null);
      // The subshell of the shim has the same arguments until it becomes the agent.
      expect(found.filter((one) => one.shim !== null).map((one) => one.pid)).toContain(shimPid);
      expect(found[at]?.shim?.startsWith(`${run} /usr/bin/env -i`)).toBe(true);
      expect(found[0]?.shim).toBe(null);
      expect(found[0]?.variable('RALPH_RUN_ID')).toBe(null);
      expect(above?.shim).toBe(null);
      for (const one of [...inner, shimPid]) process.kill(one, 'SIGKILL');
      await shim.ended;
    });

    it('finds a process by the complete marker in its environment', async () => {
      expect(await table.marked(marker)).toEqual([pid]);
      expect(await table.marked({ ...marker, value: folder.slice(0, -1) })).toEqual([]);
      expect(await table.marked({ ...marker, name: 'RUN_ID' })).toEqual([]);
      await kill();
      expect(await table.marked(marker)).toEqual([]);
    });

    it('identifies a process by its start time and detects when it is gone', async () => {
      const birth = table.birth(pid);
      if (birth === null) throw new Error('the process is gone');
      expect(birth).toMatchObject({ pid });
      expect(table.birth(pid)).toEqual(birth);
      expect(table.birth(process.pid)).not.toEqual(birth);
      expect(table.lives(birth)).toBe(true);
      expect(table.lives({ ...birth, startTime: 'another' })).toBe(false);
      await kill();
      expect(table.lives(birth)).toBe(false);
      expect(table.birth(pid)).toBeNull();
    });
  });

describe('the process table from /proc', () => {
  it(
    'reports an unmarked orphan in the folder that started after the shim as a stray',
    { tags: ['setsid'] },
    async () => {
      const shim = procfs.birth(pid);
      if (shim === null) throw new Error('the process is gone');
      const script = `setsid sleep 300 >/dev/null 2>&1 & echo $!`;
      const parent = spawn('sh', ['-c', script], {
        cwd: folder,
        detached: true,
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      const orphan = Number(await new Promise((resolve) => parent.stdout.once('data', resolve)));
      if (parent.exitCode === null) await new Promise((resolve) => parent.once('exit', resolve));
      try {
        const other = { name: 'OTHER', value: 'x' };
        // A sweep is incomplete while a process is in the middle of an `exec`.
        const strays = async (by: Marker, where: string): Promise<readonly number[]> => {
          for (let sweeps = 0; sweeps < 1000; sweeps++) {
            // oxlint-disable-next-line no-await-in-loop -- as above
            const sweep = await procfs.left({ shim, marker: by, folder: where });
            if (sweep.vanished === 0) return sweep.strays.map((stray) => stray.pid);
          }
          throw new Error('no sweep was complete');
        };
        expect(await strays(other, folder)).toEqual([orphan]);
        expect(await strays({ name: 'PATH', value: 'x' }, folder)).toEqual([]);
        expect(await strays(other, `${folder}-2`)).toEqual([]);
      } finally {
        process.kill(orphan, 'SIGKILL');
      }
    },
  );

  it('lists a process with many threads once', async () => {
    const shim = procfs.birth(pid);
    if (shim === null) throw new Error('the process is gone');
    const env = { PATH: process.env['PATH'], RALPH_RUN_ID: folder };
    const script = 'console.log(1); setInterval(() => {}, 1000)';
    const away = spawn(process.execPath, ['-e', script], {
      env,
      cwd: folder,
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    await new Promise((resolve) => away.stdout.once('data', resolve));
    const gone = new Promise((resolve) => away.once('exit', resolve));
    try {
      expect((await procfs.left({ shim, marker, folder })).pids).toEqual([away.pid]);
    } finally {
      away.kill('SIGKILL');
      await gone;
    }
  });

  it('ignores the process group of a shim from another boot or with a reused pid', async () => {
    const birth = procfs.birth(process.pid);
    if (birth === null) throw new Error('this process has no birth');
    const leader = { ...birth, pid };
    const other = { name: 'OTHER', value: 'x' };
    expect(
      (await procfs.left({ shim: { ...leader, bootId: 'another' }, marker: other, folder })).pids,
    ).toEqual([]);
    expect((await procfs.left({ shim: { ...leader, startTime: '1' }, marker: other, folder })).pids).toEqual(
      [],
    );
  });

  it('does not match a process from another boot or pid namespace', () => {
    const birth = procfs.birth(pid);
    if (birth === null) throw new Error('the process is gone');
    expect(procfs.lives({ ...birth, bootId: 'another' })).toBe(false);
    expect(procfs.lives({ ...birth, pidNamespace: 'another' })).toBe(false);
  });
});
