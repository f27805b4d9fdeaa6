import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { procfs } from './procfs.ts';
import { ps } from './ps.ts';

let folder: string;
let child: ChildProcess;
let pid: number;
beforeEach(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'ralph-table-')));
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
    expect(table.left(shim, `RALPH_RUN_ID=${folder}`)).toMatchObject({ pids: [away.pid] });
    expect(table.left(shim, `RALPH_RUN_ID=${folder}2`)).toMatchObject({ pids: [] });
    away.kill('SIGKILL');
    await gone;
    expect(table.left(shim, `RALPH_RUN_ID=${folder}`)).toMatchObject({ pids: [] });
  });

  it('finds a process by the marker in its environment, and by the whole of it', async () => {
    expect(table.marked(`RALPH_RUN_ID=${folder}`)).toEqual([pid]);
    expect(table.marked(`RALPH_RUN_ID=${folder.slice(0, -1)}`)).toEqual([]);
    expect(table.marked(`RUN_ID=${folder}`)).toEqual([]);
    await dies();
    expect(table.marked(`RALPH_RUN_ID=${folder}`)).toEqual([]);
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
  it('finds who works in a folder since something began and carries no marker', () => {
    const birth = procfs.birth(pid);
    if (birth === null) throw new Error('it is gone');
    expect(procfs.strays(folder, birth, 'OTHER')).toEqual([{ pid, command: 'sleep' }]);
    expect(procfs.strays(folder, birth, 'RALPH_RUN_ID')).toEqual([]);
    expect(procfs.strays(`${folder}-2`, birth, 'OTHER')).toEqual([]);
  });

  it('does not take another boot or another namespace for this one', () => {
    const birth = procfs.birth(pid);
    if (birth === null) throw new Error('it is gone');
    expect(procfs.lives({ ...birth, bootId: 'another' })).toBe(false);
    expect(procfs.lives({ ...birth, pidNamespace: 'another' })).toBe(false);
  });
});
