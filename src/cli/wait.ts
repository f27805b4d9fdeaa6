import { parseDuration } from '../settings/values.ts';
import { chosenLoop } from './chosen-loop.ts';
import { hall } from './hall.ts';
import type { LoopRef, Loops } from '../loops/loops.ts';
import { UserError } from '../user-error.ts';
import { print, warn } from './print.ts';
import { waitedLine } from '../text/rest-line.ts';
import { workspaceOf } from './workspace.ts';

/**
 * `ralph wait`: waits until a loop is not running, and exits as the loop does; 1 after the timeout. Of several loops the
 * greatest exit code counts.
 */
export async function wait(name: string | null, options: WaitOptions): Promise<number> {
  if (name !== null && options.all === true)
    throw new UserError('cannot use --all with the name of a loop; drop one of them');
  const timeout =
    options.timeout === undefined
      ? undefined
      : AbortSignal.timeout(parseDuration('--timeout', options.timeout));
  const loops = hall();
  const folder = workspaceOf(options);
  const waited =
    options.all === true
      ? await loops.list({ workspace: folder, waitable: true })
      : [await chosenLoop(loops, name, folder, 'wait')];
  if (waited.length === 0) warn('no running loops in this workspace\n');
  return Math.max(0, ...(await Promise.all(waited.map((loop) => waitForOne(loops, loop, timeout)))));
}

export interface WaitOptions {
  readonly all?: boolean;
  readonly timeout?: string;
  readonly cwd?: string;
}

async function waitForOne(
  loops: Loops,
  { id, name, workspace }: LoopRef,
  signal?: AbortSignal,
): Promise<number> {
  const loop = { id, name, workspace };
  const { state } = await loops.get(loop);
  const rest = await loops.wait(loop, signal === undefined ? {} : { signal });
  const { line, exitCode } = waitedLine(name, state, rest);
  print(`${line}\n`);
  return exitCode;
}
