import { chooseAgent, firstInstalled, notesOn, withSettings } from '../owner/choose-agent.ts';
import { checkSpendLimits } from '../owner/money.ts';
import { createLoop, type LoopRequest } from '../owner/open-loop.ts';
import { loopResult, type EndedLoop } from '../views/loop-result.ts';
import { insideRun, startersEnvironment } from '../store/run-environment.ts';
import { withoutSecrets } from '../store/secrets.ts';
import { adviceOn } from '../config/advice.ts';
import { effective } from '../config/effective.ts';
import { readSettings, type SettingsFiles } from '../config/read.ts';
import { LOCAL_SETTINGS_FILE, mergeSettings, SETTINGS_FILE, type Settings } from '../config/config.ts';
import { parseVariables } from '../config/values.ts';
import { hostNote } from '../loop/host-note.ts';
import type { LoopResult, Policy } from '../index.ts';
import { detailLine } from './console.ts';
import { drive } from './drive.ts';
import { viewOf, type RunOptions, type ViewOptions } from './options.ts';
import { warn } from './print.ts';
import { reportFrom, viewBeside } from './report.ts';
import { workspaceOf } from './workspace.ts';

/** What a command that starts a loop has understood. */
export interface Work {
  readonly prompt: LoopRequest['prompt'];
  readonly options: RunOptions;
  /** What stands behind `--`. */
  readonly command: readonly string[];
  /** What the command line says; it comes over the files. */
  readonly settings: Settings;
  /** What holds where neither says anything. */
  readonly defaults: Settings;
  /** Whether any agent that is installed will do. */
  readonly anyAgent?: boolean;
  /** Told what came of the loop once it does not go on. */
  readonly ended?: (result: LoopResult) => void;
  /** The first line that a person reads. */
  readonly opening?: (policy: Policy, settings: Settings) => string;
}

/** Puts a loop together from all that was said, and drives it to its end. */
export async function begin(work: Work): Promise<number> {
  const { options, command, settings: flags } = work;
  const report = reportFrom(options);
  const workspace = workspaceOf(options);
  const read = await readSettings(workspace);
  const files = { ...read, merged: mergeSettings(work.defaults, read.merged) };
  const { settings, policy } = effective(files, flags, workspace);
  const given = parseVariables('--env', options.env);
  const env = { ...startersEnvironment(process.env), ...given };
  const view = viewBeside(report, viewOf(options, settings));
  if (options.verbose === true) tellSettings(files, settings, env, view);
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
  const isOpen = work.anyAgent === true && choice.agent === null && choice.command.length === 0;
  const found = isOpen ? firstInstalled(env, workspace) : null;
  const agent = await chooseAgent({ ...choice, agent: found ?? choice.agent }, policy.calls, env, workspace);
  await checkSpendLimits(policy.limits, agent);
  const host = hostNote(policy);
  const request: LoopRequest = {
    workspace,
    name: options.name ?? null,
    policy,
    agent,
    notes: [
      ...(found === null ? [] : [`the agent is ${found}, the first that is installed; --agent chooses`]),
      ...(host === null ? [] : [host]),
      ...notesOn(agent),
      ...adviceOn(settings),
    ],
    prompt: work.prompt,
    env,
    fresh: options.fresh === true,
    worktree: settings.worktree === true,
    parent: null,
  };
  const ended = (loop: EndedLoop): void => {
    if (report === null && work.ended === undefined) return;
    const result = loopResult(loop);
    work.ended?.(result);
    report?.write(result);
  };
  const parent = insideRun(process.env);
  if (parent === null) {
    const loop = await createLoop(request);
    if (work.opening !== undefined && options.quiet !== true) warn(`${work.opening(policy, settings)}\n`);
    return drive(loop, view, ended);
  }
  const { runAsChild } = await import('./child.ts');
  return runAsChild(request, parent, view, ended);
}

/** Which files were read, and what they come to. */
function tellSettings(
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
