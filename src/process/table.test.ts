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
  it('finds the members of a group until they are gone', async () => {
    expect(table.members(pid)).toEqual([pid]);
    await dies();
    expect(table.members(pid)).toEqual([]);
  });

  it('finds a process by the marker in its environment, and by the whole of it', async () => {
    expect(table.marked(`RALPH_RUN_ID=${folder}`, null).pids).toEqual([pid]);
    expect(table.marked(`RALPH_RUN_ID=${folder.slice(0, -1)}`, null).pids).toEqual([]);
    expect(table.marked(`RUN_ID=${folder}`, null).pids).toEqual([]);
    expect(table.marked(`RALPH_RUN_ID=${folder}`, table.birth(pid)).pids).toEqual([pid]);
    await dies();
    expect(table.marked(`RALPH_RUN_ID=${folder}`, null).pids).toEqual([]);
  });

  it('tells when a process was born, and nothing once it is gone', async () => {
    const birth = table.birth(pid);
    expect(birth).toMatchObject({ pid });
    expect(table.birth(pid)).toEqual(birth);
    expect(table.birth(process.pid)).not.toEqual(birth);
    await dies();
    expect(table.birth(pid)).toBeNull();
  });
});

describe('the process table from /proc', () => {
  it('finds who works in a folder since something began', () => {
    const birth = procfs.birth(pid);
    if (birth === null) throw new Error('it is gone');
    expect(procfs.workingIn(folder, birth)).toEqual([{ pid, command: 'sleep' }]);
    expect(procfs.workingIn(`${folder}-2`, birth)).toEqual([]);
  });
});
