import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import { inTime } from './cli/until.ts';

/** Another process has the lock of a file until `release` is called or the test ends. */
export async function heldLock(path: string): Promise<{ readonly release: () => void }> {
  const holder = spawn('flock', [path, 'sh', '-c', 'echo taken; read line'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(holder, 'exit');
  const release = (): void => void holder.stdin.end('\n');
  onTestFinished(async () => {
    release();
    await inTime(`the end of the lock of ${path}`, ended);
  });
  await inTime(`the lock of ${path}`, once(holder.stdout, 'data'));
  return { release };
}
