import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { procfs } from './procfs.ts';
import { ps } from './ps.ts';
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
const dies = async (): Promise<void> => {
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await gone;
};

describe.each([
  ['/proc', procfs],
  ['ps', ps],
])('the process table from %s', (_, table) => {
  it('finds what is left of a run, by its group and by its marker, besides the shim itself', async () => {
    const shim = table.birth(pid);
    if (shim === null) throw new Error('it is gone');
    const env = { PATH: process.env['PATH'], RALPH_RUN_ID: folder };
    const away = spawn('sleep', ['300'], { env, cwd: folder, detached: true, stdio: 'ignore' });
    await new Promise((resolve) => away.once('spawn', resolve));
    const gone = new Promise((resolve) => away.once('exit', resolve));
    expect(table.left({ shim, marker, folder })).toMatchObject({ pids: [away.pid] });
    expect(table.left({ shim, marker: { ...marker, value: `${folder}2` }, folder })).toMatchObject({
      pids: [],
    });
    away.kill('SIGKILL');
    await gone;
    expect(table.left({ shim, marker, folder })).toMatchObject({ pids: [] });
  });

  it('finds a process by the marker in its environment, and by the whole of it', async () => {
    expect(table.marked(marker)).toEqual([pid]);
    expect(table.marked({ ...marker, value: folder.slice(0, -1) })).toEqual([]);
    expect(table.marked({ ...marker, name: 'RUN_ID' })).toEqual([]);
    await dies();
    expect(table.marked(marker)).toEqual([]);
  });

  it('tells when a process was born, and whether it still lives', async () => {
    const birth = table.birth(pid);
    if (birth === null) throw new Error('it is gone');
    expect(birth).toMatchObject({ pid });
    expect(table.birth(pid)).toEqual(birth);
    expect(table.birth(process.pid)).not.toEqual(birth);
    expect(table.lives(birth)).toBe(true);
    expect(table.lives({ ...birth, startTime: 'another' })).toBe(false);
    await dies();
    expect(table.lives(birth)).toBe(false);
    expect(table.birth(pid)).toBeNull();
  });
});

describe('the process table from /proc', () => {
  it('finds an orphan that works in a folder since something began and carries no marker', async () => {
    const shim = procfs.birth(pid);
    if (shim === null) throw new Error('it is gone');
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
      // While somebody is just becoming another program, a look says that it has not seen everybody.
      const strays = (by: Marker, where: string): readonly number[] => {
        for (;;) {
          const look = procfs.left({ shim, marker: by, folder: where });
          if (look.vanished === 0) return look.strays.map((stray) => stray.pid);
        }
      };
      expect(strays(other, folder)).toEqual([orphan]);
      expect(strays({ name: 'PATH', value: 'x' }, folder)).toEqual([]);
      expect(strays(other, `${folder}-2`)).toEqual([]);
    } finally {
      process.kill(orphan, 'SIGKILL');
    }
  });

  it('finds a process with many threads once, and none of its threads', async () => {
    const shim = procfs.birth(pid);
    if (shim === null) throw new Error('it is gone');
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
      expect(procfs.left({ shim, marker, folder }).pids).toEqual([away.pid]);
    } finally {
      away.kill('SIGKILL');
      await gone;
    }
  });

  it('does not take the group of a stranger for a run of another boot, or of a pid that was used again', () => {
    const birth = procfs.birth(process.pid);
    if (birth === null) throw new Error('we are gone');
    const leader = { ...birth, pid };
    const other = { name: 'OTHER', value: 'x' };
    expect(procfs.left({ shim: { ...leader, bootId: 'another' }, marker: other, folder }).pids).toEqual([]);
    expect(procfs.left({ shim: { ...leader, startTime: '1' }, marker: other, folder }).pids).toEqual([]);
  });

  it('does not take another boot or another namespace for this one', () => {
    const birth = procfs.birth(pid);
    if (birth === null) throw new Error('it is gone');
    expect(procfs.lives({ ...birth, bootId: 'another' })).toBe(false);
    expect(procfs.lives({ ...birth, pidNamespace: 'another' })).toBe(false);
  });
});
