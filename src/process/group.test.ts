import { spawn } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { isGroupAlive } from './group.ts';

describe('a process group', () => {
  it('S1.55 is alive while it has a process, and dead afterwards', async () => {
    const child = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' });
    const gone = new Promise((resolve) => child.once('exit', resolve));
    const pgid = child.pid ?? 0;
    expect(isGroupAlive(pgid)).toBe(true);
    process.kill(-pgid, 'SIGKILL');
    await gone;
    expect(isGroupAlive(pgid)).toBe(false);
    expect(isGroupAlive(1)).toBe(true);
  });

  it.each([0, -1, -7, 1.5, Number.NaN, 2 ** 31, 2 ** 60])('S1.55 has an invalid id if it is %d', (pgid) => {
    expect(() => isGroupAlive(pgid)).toThrow('pgid is invalid');
  });
});
