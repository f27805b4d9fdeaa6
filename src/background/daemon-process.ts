/** Starting and stopping the daemon's process. */
import { spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { openRegular, PRIVATE_FOLDER, makeFolders } from '../files/files.ts';
import { STATE, stateFolder } from '../home/state-folder.ts';
import { killOwner } from '../home/kill-owner.ts';
import { watchUntil } from '../process/watch.ts';
import { UserError } from '../user-error.ts';
import { daemonFolder, daemonLock, daemonLog, daemonPid } from './place.ts';

const MAIN = fileURLToPath(new URL('../cli/main.js', import.meta.url));

/**
 * Starts a daemon if none runs. It gets its own session and an environment without the variables of a run, because a run
 * ends everything that carries its marker. If two are started at once, the second one exits at once.
 */
export function ensureDaemon(): void {
  if (daemonPid() === null) startDaemon();
}

/** Starts a daemon, which exits at once where one runs. */
export function startDaemon(): void {
  makeFolders(daemonFolder(), PRIVATE_FOLDER);
  const log = openRegular(daemonLog(), 'append');
  try {
    const child = spawn(process.execPath, [MAIN, 'daemon', 'run'], {
      cwd: '/',
      env: daemonEnvironment(process.env),
      detached: true,
      stdio: ['ignore', log, log],
    });
    // A command that waits for an owner reports what came of it.
    child.once('error', () => {});
    child.unref();
  } finally {
    closeSync(log);
  }
}

/** What the daemon itself needs: where things are, and how this machine writes times. */
function daemonEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const needed = Object.entries(env).filter(([name]) => NEEDED.test(name));
  const state = (env[STATE] ?? '') === '' ? {} : { [STATE]: stateFolder(env) };
  return { ...Object.fromEntries(needed), ...state };
}

const NEEDED = /^(?:HOME|PATH|USER|LOGNAME|SHELL|TZ|TMPDIR|LANG|LC_\w+|XDG_\w+)$/;

/**
 * Lets the daemon leave its loops and end, and resolves when it has; to its pid, or to null if none runs. With `now` it is
 * killed, so that it need not respond.
 */
export async function endDaemon(now: boolean): Promise<number | null> {
  const pid = daemonPid();
  if (pid === null) return null;
  if (now) {
    await killOwner(daemonLock(), pid);
    return pid;
  }
  process.kill(pid, 'SIGTERM');
  const isGone = (): true | null => (daemonPid() === pid ? null : true);
  if ((await watchUntil(daemonFolder(), isGone, AbortSignal.timeout(STOP_MS))) === null)
    throw new UserError(
      `the daemon (process ${pid}) does not end; its log is ${daemonLog()}; kill it with: ralph daemon stop --now`,
      3,
    );
  return pid;
}

/** A daemon with many loops leaves one after the other. */
const STOP_MS = 30_000;
