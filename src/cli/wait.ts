import { parseDuration } from '../config/values.ts';
import { isEnlisted } from '../store/background.ts';
import { enclosingRuns, loopOf } from '../store/enclosing-runs.ts';
import { readLoops, type LoopReading } from '../store/read-loop.ts';
import { UserError } from '../user-error.ts';
import { untilRest } from '../views/until-rest.ts';
import { findLoop } from './loops.ts';
import { print, warn } from './print.ts';
import { removedLine, restLine } from './rest-line.ts';
import { keepDaemonAwake } from './wake-daemon.ts';
import { listedWorkspace, workspaceOf } from './workspace.ts';

/**
 * `ralph wait`: waits until a loop is not running, and exits as the loop does; 1 after the timeout. Of several loops the
 * greatest exit code counts.
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

async function waitForOne(found: LoopReading, timeout?: AbortSignal): Promise<number> {
  const loop = await untilRest(found.folder, timeout);
  const isLate = loop === null && timeout?.aborted === true;
  const { line, exitCode } = isLate
    ? { line: `${found.spec.name}: still running (timeout)`, exitCode: 1 }
    : loop === null
      ? removedLine(found)
      : restLine(loop);
  print(`${line}\n`);
  return exitCode;
}
