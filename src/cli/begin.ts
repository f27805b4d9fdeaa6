import { chooseAgent, firstInstalled, notesOn, withSettings } from '../owner/choose-agent.ts';
import { checkSpendLimits } from '../owner/money.ts';
import { createLoop, type LoopRequest } from '../owner/create-loop.ts';
import type { OwnedLoop } from '../owner/owner.ts';
import { promptFromTaskFile } from '../owner/task-file.ts';
import { loopResult, type EndedLoop, type LoopResult } from '../views/loop-result.ts';
import { refuseUnrelated } from '../store/child-limits.ts';
import { parentRun } from '../store/enclosing-runs.ts';
import { startersEnvironment } from '../store/run-environment.ts';
import { withoutSecrets } from '../loop/secrets.ts';
import { keepConsent, trustOf } from '../store/trust-of.ts';
import { adviceOn } from '../config/advice.ts';
import { noteOnOuterSettings } from '../config/outer-settings.ts';
import { effective } from '../config/effective.ts';
import { readSettings, type SettingsFiles } from '../config/read.ts';
import { LOCAL_SETTINGS_FILE, mergeSettings, SETTINGS_FILE, type Settings } from '../config/config.ts';
import { parseTags, parseVariables } from '../config/values.ts';
import type { Policy } from '../loop/policy.ts';
import { UserError } from '../user-error.ts';
import { askForTrust } from './consent.ts';
import { detailLine } from './console.ts';
import { drive } from './drive.ts';
import { viewOf, type RunOptions, type ViewOptions } from './options.ts';
import { warn } from './print.ts';
import { reportFrom, viewBeside } from './report.ts';
import { stampIf } from './line-options.ts';
import { workspaceOf } from './workspace.ts';

/** The parsed arguments of a command that starts a loop. */
export interface Work {
  /** Null if none was given. */
  readonly prompt: LoopRequest['prompt'] | null;
  /** Where the text of the prompt was read from, if from a file or a pipe; as the user named it. */
  readonly promptFrom?: string | undefined;
  readonly options: RunOptions;
  /** The words after `--`. */
  readonly command: readonly string[];
  /** The settings from the command line; they override the files. */
  readonly settings: Settings;
  /** The settings for what neither sets. */
  readonly defaults: Settings;
  /** The tmux window of the loop; absent for none. */
  readonly window?: LoopRequest['window'];
  /** Where a worktree is made instead of the place in the policy. */
  readonly worktreeAt?: LoopRequest['worktreeAt'];
  /** The error if no agent is named. */
  readonly noAgent?: string;
  /** Whether to take any installed agent if none is named. */
  readonly anyAgent?: boolean;
  /** Called with the result when the loop ends or pauses; `time` is the start of a line where lines have the time. */
  readonly ended?: (result: LoopResult, time: string) => void;
  /** Gives the loop to the daemon and returns the exit code; absent for a loop that is shown until it ends. */
  readonly detached?: (
    loop: OwnedLoop,
    view: ViewOptions,
    ended: (loop: EndedLoop) => void,
  ) => Promise<number>;
  /** Whether `detached` shows the loop until it ends. */
  readonly waits?: boolean;
  /** The first line of the output. */
  readonly opening?: (policy: Policy, settings: Settings) => string;
}

/** Creates a loop from the arguments and the settings files, and drives it until it ends. */
export async function begin(work: Work): Promise<number> {
  const { options, command, settings: flags } = work;
  const isDetached = options.detach === true || work.detached !== undefined;
  const report = reportFrom(options);
  if (isDetached && work.waits !== true && report !== null)
    throw new UserError(
      '--report is written by the command that shows the loop to its end; drop it, and use: ralph status NAME --json',
    );
  const workspace = workspaceOf(options);
  const read = await readSettings(workspace);
  const files = { ...read, merged: mergeSettings(work.defaults, read.merged) };
  const { settings, policy, notes } = effective(files, flags, workspace);
  const prompt = work.prompt ?? promptFromTaskFile(workspace, options.name ?? null, policy);
  const given = parseVariables('--env', options.env ?? []);
  const env = { ...startersEnvironment(process.env), ...given };
  const view = viewBeside(report, viewOf(options, settings));
  const trust = trustOf(read, workspace, options.trust);
  if (!trust.isTrusted) await askForTrust(trust, options);
  else if (trust.open.length > 0) keepConsent(workspace, trust.open);
  if (options.verbose === true) printSettings(files, settings, env, view);
  const choice = withSettings(
    {
      agent: flags.agent?.name ?? null,
      model: flags.agent?.model ?? null,
      command,
      promptVia: flags.agent?.promptVia ?? null,
      drop: settings.agent?.env?.drop ?? [],
      given: Object.keys(given),
    },
    files.merged.agent ?? {},
  );
  const takesAnyAgent = work.anyAgent === true && choice.agent === null && choice.command.length === 0;
  const found = takesAnyAgent ? firstInstalled(env, workspace) : null;
  const unused = noteOnOuterSettings(workspace, read.shared !== null || read.local !== null);
  const chosen = { ...choice, agent: found ?? choice.agent, unused };
  if (work.noAgent !== undefined && chosen.agent === null && chosen.command.length === 0)
    throw new UserError(work.noAgent);
  const agent = await chooseAgent(chosen, policy, env, workspace);
  await checkSpendLimits(policy.limits, agent);
  const request: LoopRequest = {
    workspace,
    name: options.name ?? null,
    policy,
    agent,
    notes: [
      ...(found === null ? [] : [`using ${found}, the first installed agent; choose another with --agent`]),
      ...notesOn(agent),
      ...adviceOn(settings),
      ...notes,
      ...unused,
    ],
    prompt,
    promptFrom: work.promptFrom,
    env,
    tags: parseTags('--tag', options.tag ?? []),
    fresh: options.fresh === true,
    worktree: settings.worktree === true,
    worktreeAt: work.worktreeAt,
    ...(options.quiet === true ? {} : { say: (line) => warn(`${stampIf(view)}ralph: ${line}\n`) }),
    ...(work.window === undefined ? {} : { window: work.window }),
    parent: null,
  };
  const ended = (loop: EndedLoop): void => {
    if (report === null && work.ended === undefined) return;
    const result = loopResult(loop);
    work.ended?.(result, stampIf(view));
    report?.write(result);
  };
  const inside = parentRun();
  const parent = options.child === false ? null : inside;
  if (inside !== null && parent === null) refuseUnrelated(inside);
  // The clean-up after the agent's run would end a loop that this process drives.
  if (inside === null && !isDetached) {
    const loop = await createLoop(request);
    if (work.opening !== undefined && options.quiet !== true)
      warn(`${stampIf(view)}${work.opening(policy, settings)}\n`);
    return drive(loop, view, ended);
  }
  const { followInBackground, leaveInBackground } = await import('./background.ts');
  // Only the user can lift the budget: a repository, which the agent can write, cannot.
  const paidBy = read.user?.children?.unrelated === true ? null : inside;
  const loop = await createLoop({ ...request, parent, paidBy, place: 'background' });
  if (work.detached !== undefined) return work.detached(loop, view, ended);
  return isDetached ? leaveInBackground(loop, view) : followInBackground(loop, view, { ended });
}

/** Prints the settings files that were read, and the merged settings. */
function printSettings(
  files: SettingsFiles,
  settings: Settings,
  env: Readonly<Record<string, string>>,
  view: ViewOptions,
): void {
  const loaded = [
    ...(files.shared === null ? [] : [SETTINGS_FILE]),
    ...(files.local === null ? [] : [LOCAL_SETTINGS_FILE]),
  ];
  for (const file of loaded) warn(`${detailLine(`Loading settings from ${file}`, view)}\n`);
  warn(`${detailLine(`Settings: ${JSON.stringify(withoutSecrets(settings, env))}`, view)}\n`);
}
