import { parseDuration } from '../config/values.ts';
import { hall } from './hall.ts';
import type { LoopRef, Loops } from '../loops/loops.ts';
import { isEnlisted } from '../store/background.ts';
import { enclosingRuns, loopOf } from '../store/enclosing-runs.ts';
import { readLoops } from '../store/read-loop.ts';
import { UserError } from '../user-error.ts';
import { print, warn } from './print.ts';
import { waitedLine } from '../text/rest-line.ts';
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
  const loops = hall();
  const waited =
    name === null ? others(listedWorkspace(options)) : [await loops.find(name, workspaceOf(options))];
  if (waited.length === 0) warn('no running loops in this workspace\n');
  return Math.max(0, ...(await Promise.all(waited.map((loop) => waitForOne(loops, loop, timeout)))));
}

export interface WaitOptions {
  readonly all?: boolean;
  readonly timeout?: string;
  readonly cwd?: string;
}

/** The running loops, except those that wait for this process. */
function others(workspace: string): readonly LoopRef[] {
  const enclosing = new Set(enclosingRuns().map((run) => loopOf(run)?.id));
  return readLoops(workspace)
    .filter(({ owner, spec: { id } }) => (owner !== null || isEnlisted(id)) && !enclosing.has(id))
    .map(({ spec: { id, name } }) => ({ id, name, workspace }));
}

async function waitForOne(loops: Loops, loop: LoopRef, signal?: AbortSignal): Promise<number> {
  const { name } = loop;
  const { state } = await loops.get(loop);
  const rest = await loops.wait(loop, signal === undefined ? {} : { signal });
  const { line, exitCode } = waitedLine(name, state, rest);
  print(`${line}\n`);
  return exitCode;
}
