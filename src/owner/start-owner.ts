import { spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openRegular } from '../files/files.ts';
import { watchFolder } from '../process/watch.ts';
import type { LoopFolder } from '../store/store.ts';
import { UserError } from '../user-error.ts';
import { kept } from '../store/kept-environment.ts';
import { liveOwner, readLoopAt } from '../store/read-loop.ts';
import { readSpec } from '../store/spec.ts';
import { notInBackground } from './loop-environment.ts';
import { PARENT_RUN } from '../store/run-environment.ts';

const MAIN = fileURLToPath(new URL('../cli/main.js', import.meta.url));

/**
 * Starts a background owner for a loop and resolves when it owns the loop. It gets its own session and a clean environment,
 * because the run that this process may belong to ends everything that it started.
 */
export async function startOwner(
  folder: LoopFolder,
  env: Readonly<Record<string, string>>,
  parentRun: string,
): Promise<void> {
  refuseWithoutEnvironment(folder);
  const output = openRegular(join(folder.path, 'owner.log'), 'append');
  const child = spawn(process.execPath, [MAIN, 'run', '--owner', folder.path], {
    cwd: '/',
    env: { ...env, [PARENT_RUN]: parentRun },
    detached: true,
    stdio: ['ignore', output, output],
  });
  closeSync(output);
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  child.unref();
  let stopWatching: (() => void) | null = null;
  const owned = new Promise<void>((resolve) => {
    const look = (): void => {
      if (liveOwner(folder) === child.pid) resolve();
    };
    stopWatching = watchFolder(folder.path, look);
    look();
  });
  await Promise.race([owned, ended]);
  (stopWatching as (() => void) | null)?.();
  const loop = readLoopAt(folder);
  if (loop?.owner === null && loop.state.outcome === null) {
    const log = join(folder.path, 'owner.log');
    throw new UserError(
      `the background process of "${folder.name}" exited before the loop ended; its log is ${log}; continue the loop with: ralph resume ${folder.name}`,
      3,
    );
  }
}

/** An owner in the background uses only the kept environment, so it cannot start without one. */
function refuseWithoutEnvironment(folder: LoopFolder): void {
  if (kept(readSpec(folder.spec).id) !== null) return;
  throw notInBackground(folder.name, 3);
}
