import { spawn } from 'node:child_process';
import { onTestFinished } from 'vitest';

/** Starts a process group of another program, which lives until `end` is called or the test ends. */
export function startGroup(): { readonly pgid: number; readonly end: () => void } {
  const child = spawn('sleep', ['300'], { detached: true, stdio: 'ignore' });
  const end = (): void => void child.kill('SIGKILL');
  onTestFinished(end);
  return { pgid: child.pid ?? 0, end };
}

/** A process group that does not exist. */
export const NO_GROUP: number = 2 ** 31 - 1;
