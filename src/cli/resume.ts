import type { OwnedLoop } from '../owner/owner.ts';
import { parseVariables } from '../config/values.ts';
import { mergeSettings } from '../config/config.ts';
import { readSettings } from '../config/read.ts';
import { localLoops } from '../loops/local-loops.ts';
import type { WordingPolicy } from '../loop/policy.ts';
import { parentRun } from '../store/enclosing-runs.ts';
import { loopResult, type EndedLoop } from '../views/loop-result.ts';
import { UserError } from '../user-error.ts';
import { drive } from './drive.ts';
import { tellSent } from './control.ts';
import { limitSettings, viewOf, viewSettings, type LimitOptions, type ViewOptions } from './options.ts';
import { textsOf } from '../text/wording.ts';
import { reportFrom, viewBeside } from './report.ts';
import { workspaceOf } from './workspace.ts';
import { print } from './print.ts';

/** `ralph resume`: resumes a running loop that is paused, or becomes the owner of a loop that has none. The texts are those of its preset, or `prescribed`. */
export async function resumeLoop(
  name: string,
  options: ResumeOptions,
  prescribed?: WordingPolicy,
): Promise<number> {
  const report = reportFrom(options);
  const { now = false, detach = false } = options;
  const request = {
    limits: limitSettings(options),
    now,
    detach,
    env: parseVariables('--env', options.env ?? []),
  };
  const loops = localLoops();
  const ref = await loops.find(name, workspaceOf(options));
  const settings = mergeSettings((await readSettings(ref.workspace)).merged, viewSettings(options));
  const view = viewBeside(report, viewOf(options, settings));
  const resumed = await loops.own(ref, request, (owner) => {
    if (report !== null)
      throw new UserError(
        `loop ${name} is running: only its owner (process ${owner}) can write a report; drop --report`,
      );
  });
  if (resumed.is === 'sent') {
    const texts = textsOf(prescribed ?? resumed.policy.wording);
    return tellSent(ref, resumed.sent, texts.resumed(name), { 'not paused': texts.notPaused(name) });
  }
  const { loop, isDetached } = resumed;
  const ended = (done: EndedLoop): void => report?.write(loopResult(done));
  return goOn(loop, view, { isDetached, ended, wording: prescribed ?? loop.state.policy.wording });
}

export interface ResumeOptions extends LimitOptions {
  readonly now?: boolean;
  readonly detach?: boolean;
  readonly env?: readonly string[];
}

/** Drives a loop that this process owns, or leaves it in the background. */
async function goOn(
  loop: OwnedLoop,
  view: ViewOptions,
  { isDetached, ended, wording }: GoingOn,
): Promise<number> {
  const { name } = loop.spec;
  const isChild = parentRun() !== null;
  if (isDetached && !isChild) {
    const { leaveInBackground } = await import('./background.ts');
    return leaveInBackground(loop, view, textsOf(wording).resumed(name));
  }
  // Without a prescribed line, stdout has only the agent's output.
  if (wording.resumeLine !== null && view.json !== true && view.quiet !== true)
    print(`${textsOf(wording).resumed(name)}\n`);
  if (!isChild) return drive(loop, view, ended);
  const { followInBackground } = await import('./background.ts');
  return followInBackground(loop, view, { ended });
}

interface GoingOn {
  readonly isDetached: boolean;
  readonly ended: (done: EndedLoop) => void;
  readonly wording: WordingPolicy;
}
