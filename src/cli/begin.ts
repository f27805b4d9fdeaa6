import { localLoops } from '../loops/local-loops.ts';
import type { Begun, Loaded, StartRequest } from '../loops/loops.ts';
import { type EndedLoop, type LoopResult, loopResult } from '../loops/result.ts';
import { NeedsTrust } from '../settings/trust-of.ts';
import { LOCAL_SETTINGS_FILE, SETTINGS_FILE, type Settings } from '../settings/settings.ts';
import { withoutSecrets } from '../loop/secrets.ts';
import { parseTags, parseVariables } from '../settings/values.ts';
import type { Policy } from '../loop/policy.ts';
import { UserError } from '../user-error.ts';
import type { Then } from './background.ts';
import { askForTrust } from './consent.ts';
import { detailLine } from './console.ts';
import { drive } from './drive.ts';
import { sandboxRequests } from '../loops/here.ts';
import { viewOf, type RunOptions, type ViewOptions } from './options.ts';
import { warn, warnAsIs } from './print.ts';
import { reportFrom, viewBeside } from './report.ts';
import { stampIf } from './line-options.ts';
import { workspaceOf } from './workspace.ts';

/** The parsed arguments of a command that starts a loop, and what the command itself says about it. */
export interface Work {
  readonly start: Omit<StartRequest, 'workspace' | 'name' | 'env' | 'tags' | 'fresh' | 'child' | 'trust'>;
  readonly options: RunOptions;
  /** Called with the result when the loop ends or pauses; `time` is the start of a line where lines have the time. */
  readonly ended?: (result: LoopResult, time: string) => void;
  /** Shows a loop that is given to the daemon; absent for one that is shown until it ends. */
  readonly detached?: (loop: Begun, view: ViewOptions, ended: (loop: EndedLoop) => Promise<void>) => Then;
  /** Whether `detached` shows the loop until it ends. */
  readonly waits?: boolean;
  /** The first line of the output. */
  readonly opening?: (policy: Policy, settings: Settings) => string;
}

/** Creates a loop from the arguments and the settings files, and drives it until it ends. */
export async function begin(work: Work): Promise<number> {
  const { options, opening } = work;
  const isDetached = options.detach === true || work.detached !== undefined;
  if (sandboxRequests() !== null) {
    const { startChild } = await import('./child.ts');
    return startChild(askedFor(work), options, isDetached && work.waits !== true);
  }
  if (options.dryRun === true) {
    const { refuseWithDryRun, showDryRun } = await import('./dry-run.ts');
    refuseWithDryRun(options);
    return trusted(askedFor(work), options, (request) => showDryRun(request, options));
  }
  const report = reportFrom(options);
  if (isDetached && work.waits !== true && report !== null)
    throw new UserError(
      '--report is written by the command that shows the loop to its end; drop it, and use: ralph status NAME --json',
    );
  const asked = askedFor(work);
  const viewWith = (settings: Settings): RunOptions => viewBeside(report, viewOf(options, settings));
  let settings: Settings = {};
  let view = viewWith(settings);
  const say = (line: string): void => warn(`${stampIf(view)}ralph: ${line}\n`);
  const help = {
    loaded(found: Loaded): void {
      ({ settings } = found);
      view = viewWith(settings);
      if (options.verbose === true) printSettings(found, view);
    },
    ...(options.quiet === true ? {} : { say }),
  };
  const ended = async (loop: EndedLoop): Promise<void> => {
    work.ended?.(loopResult(loop), stampIf(view));
    await report?.write(loop);
  };
  const shown: Then[] = [];
  const giving = async (loop: Begun): Promise<void> => {
    const { followInBackground, leaveInBackground } = await import('./background.ts');
    if (work.detached !== undefined) shown.push(work.detached(loop, view, ended));
    else shown.push(isDetached ? leaveInBackground(loop, view) : followInBackground(loop, view, { ended }));
  };
  const loops = localLoops();
  const loop = await trusted(asked, options, async (request) => {
    if (!isDetached) return loops.startHere(request, { ...help, giving });
    await loops.start(request, { ...help, giving });
    return null;
  });
  if (loop === null) return (await shown[0]?.()) ?? 0;
  if (opening !== undefined && options.quiet !== true)
    warn(`${stampIf(view)}${opening(loop.state.policy, settings)}\n`);
  return drive(loop, view, ended);
}

function askedFor({ start, options }: Work): StartRequest {
  return {
    ...start,
    workspace: workspaceOf(options),
    name: options.name,
    env: parseVariables('--env', options.env ?? []),
    tags: parseTags('--tag', options.tag ?? []),
    fresh: options.fresh,
    child: options.child,
    trust: options.trust,
  };
}

/** Starts it once the user trusts the settings files. */
async function trusted<T>(
  asked: StartRequest,
  options: RunOptions,
  start: (request: StartRequest) => Promise<T>,
): Promise<T> {
  try {
    return await start(asked);
  } catch (error) {
    if (!(error instanceof NeedsTrust)) throw error;
    return trusted({ ...asked, trust: await askForTrust(error, options) }, options, start);
  }
}

/** Prints the settings files that were read, and the merged settings. */
function printSettings({ files, settings, env }: Loaded, view: ViewOptions): void {
  const read = [
    ...(files.shared === null ? [] : [SETTINGS_FILE]),
    ...(files.local === null ? [] : [LOCAL_SETTINGS_FILE]),
  ];
  for (const file of read) warn(`${detailLine(`Loading settings from ${file}`, view)}\n`);
  warnAsIs(`${detailLine(`Settings: ${JSON.stringify(withoutSecrets(settings, env))}`, view)}\n`);
}
