import { parseVariables } from '../settings/values.ts';
import { mergeSettings } from '../settings/settings.ts';
import { readSettings } from '../settings/read.ts';
import { localLoops } from '../loops/local-loops.ts';
import type { WordingPolicy } from '../loop/policy.ts';
import type { EndedLoop } from '../loops/result.ts';
import { UserError } from '../user-error.ts';
import { chosenLoop } from './chosen-loop.ts';
import type { Then } from './background.ts';
import { drive } from './drive.ts';
import { tellSent } from './control.ts';
import { flagSettings, viewOf, type LimitOptions, type ViewOptions } from './options.ts';
import { textsOf } from '../text/wording.ts';
import { reportFrom, viewBeside } from './report.ts';
import { workspaceOf } from './workspace.ts';
import { print } from './print.ts';

/** `ralph resume`: resumes a running loop that is paused, or becomes the owner of a loop that has none. The texts are those of its preset, or `prescribed`. */
export async function resumeLoop(
  named: string | null,
  options: ResumeOptions,
  prescribed?: WordingPolicy,
): Promise<number> {
  const report = reportFrom(options);
  const { now = false, detach = false } = options;
  const request = {
    limits: flagSettings(options, ['limits']),
    now,
    detach,
    env: parseVariables('--env', options.env ?? []),
  };
  const loops = localLoops();
  const ref = await chosenLoop(loops, named, workspaceOf(options), 'resume');
  const { name } = ref;
  const settings = mergeSettings(
    (await readSettings(ref.workspace)).merged,
    flagSettings(options, ['output']),
  );
  const view = viewBeside(report, viewOf(options, settings));
  const ended = async (done: EndedLoop): Promise<void> => report?.write(done);
  const { followInBackground, leaveInBackground } = await import('./background.ts');
  const shown: Then[] = [];
  const resumed = await loops.own(ref, request, {
    refuseRunning(owner) {
      if (report !== null)
        throw new UserError(
          `loop ${name} is running: only its owner (process ${owner}) can write a report; drop --report`,
        );
    },
    giving(loop, isDetached) {
      const wording = prescribed ?? loop.state.policy.wording;
      if (!isDetached) printResumed(name, wording, view);
      shown.push(
        isDetached
          ? leaveInBackground(loop, view, textsOf(wording).resumed(name))
          : followInBackground(loop, view, { ended }),
      );
    },
  });
  switch (resumed.is) {
    case 'sent': {
      const texts = textsOf(prescribed ?? resumed.policy.wording);
      return tellSent(ref, resumed.sent, texts.resumed(name), { 'not paused': texts.notPaused(name) });
    }
    case 'given':
      return (await shown[0]?.()) ?? 0;
    case 'owned':
      printResumed(name, prescribed ?? resumed.loop.state.policy.wording, view);
      return drive(resumed.loop, view, ended);
  }
}

/** Without a prescribed line, stdout has only the agent's output. */
function printResumed(name: string, wording: WordingPolicy, { json, quiet }: ViewOptions): void {
  if (wording.resumeLine !== null && json !== true && quiet !== true)
    print(`${textsOf(wording).resumed(name)}\n`);
}

export interface ResumeOptions extends LimitOptions {
  readonly now?: boolean;
  readonly detach?: boolean;
  readonly env?: readonly string[];
}
