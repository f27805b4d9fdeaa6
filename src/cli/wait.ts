import { parseDuration } from '../config/values.ts';
import { isEnlisted } from '../store/background.ts';
import { endRecord } from '../store/end-record.ts';
import { enclosingRuns, loopOf } from '../store/enclosing-runs.ts';
import { readLoops, type LoopReading } from '../store/read-loop.ts';
import { UserError } from '../user-error.ts';
import { untilRest } from '../views/until-rest.ts';
import { findLoop } from './loops.ts';
import { print, warn } from './print.ts';
import { keepDaemonAwake } from './wake-daemon.ts';
import { listedWorkspace, workspaceOf } from './workspace.ts';

/**
 * `ralph wait`: waits until a loop is not running. Exits 0 if it has ended, 1 after the timeout, and with the exit code
 * of the loop if it rests without having ended.
 */
export async function wait(name: string | null, options: WaitOptions): Promise<number> {
  if ((name === null) === (options.all !== true))
    throw new UserError('name the loop to wait for, or wait for all loops of the workspace with: --all');
  const timeout =
    options.timeout === undefined
      ? undefined
      : AbortSignal.timeout(parseDuration('--timeout', options.timeout));
  const loops = name === null ? others(listedWorkspace(options)) : [findLoop(workspaceOf(options), name)];
  if (loops.length === 0) warn('no running loops in this workspace\n');
  const stopWaking = keepDaemonAwake();
  const codes = await Promise.all(loops.map((loop) => waitForOne(loop, timeout)));
  stopWaking();
  return Math.max(0, ...codes);
}

export interface WaitOptions {
  readonly all?: boolean;
  readonly timeout?: string;
  readonly cwd?: string;
}

/** The running loops, except those that wait for this process. */
function others(workspace: string): readonly LoopReading[] {
  const enclosing = new Set(enclosingRuns().map((run) => loopOf(run)?.id));
  return readLoops(workspace).filter(
    ({ owner, spec: { id } }) => (owner !== null || isEnlisted(id)) && !enclosing.has(id),
  );
}

async function waitForOne({ folder, spec }: LoopReading, timeout?: AbortSignal): Promise<number> {
  const loop = await untilRest(folder, timeout);
  if (loop === null && timeout?.aborted === true) {
    print(`${spec.name}: still running (timeout)\n`);
    return 1;
  }
  if (loop === null || loop.state.outcome !== null) {
    print(`${spec.name}: exited\n`);
    return 0;
  }
  const { status, exitCode, next } = endRecord(loop.state, loop.report, spec);
  print(`${spec.name}: ${status}; continue it with: ${next}\n`);
  return exitCode;
}
