import { spawn } from 'node:child_process';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { isGroupAlive } from './stop.ts';

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

  it('S1.55 is alive if this user may not signal it', () => {
    // Root may signal every process.
    const kill = vi.spyOn(process, 'kill').mockImplementation(() => {
      throw Object.assign(new Error('kill EPERM'), { code: 'EPERM' });
    });
    onTestFinished(() => kill.mockRestore());
    expect(isGroupAlive(4711)).toBe(true);
    expect(kill).toHaveBeenCalledWith(-4711, 0);
  });

  it.each([0, -1, -7, 1.5, Number.NaN, 2 ** 31, 2 ** 60])('S1.55 has an invalid id if it is %d', (pgid) => {
    expect(() => isGroupAlive(pgid)).toThrow('pgid is invalid');
  });
});
