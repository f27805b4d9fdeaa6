/**
 * Makes the request for a loop from what a front asks for, the settings files and the environment. It prints nothing and
 * creates nothing.
 */
import { mergeSettings, type Settings } from '../settings/settings.ts';
import { effective } from '../settings/effective.ts';
import { adviceOn, noteOnOuterSettings } from '../settings/notes.ts';
import { readSettings, type SettingsFiles } from '../settings/read.ts';
import type { Policy } from '../loop/policy.ts';
import type { PolicyInput } from '../loop/validate.ts';
import { refuseUnrelated } from '../home/child-limits.ts';
import { parentRun } from '../home/enclosing-runs.ts';
import { startersEnvironment } from '../home/run-environment.ts';
import type { PromptSource, Spec } from '../home/spec.ts';
import { keepConsent, NeedsTrust, trustOf, type Agreed } from '../settings/trust-of.ts';
import { chooseAgent, firstInstalled, notesOn, withSettings } from './choose-agent.ts';
import { askingRun, confined, withinSandbox } from './confined-child.ts';
import type { LoopRequest } from './create-loop.ts';
import { checkSpendLimits } from './money.ts';
import { emptyConditions } from './empty-conditions.ts';
import { noticeTargets } from './notice-targets.ts';
import type { SandboxedParent } from './owner.ts';
import { promptWithoutTask } from './prompt-source.ts';
import type { Environment } from '../process/process.ts';

/** What a front asks for, as data. */
export interface StartRequest extends Pick<
  LoopRequest,
  'id' | 'workspace' | 'promptFrom' | 'tags' | 'window' | 'worktreeAt'
> {
  /** Absent for a name that is made from the prompt. */
  readonly name?: string | undefined;
  /** Absent for the task file in the loop's folder. */
  readonly prompt?: PromptSource | undefined;
  /** They override the settings files. */
  readonly settings: Settings;
  /** For what neither sets. */
  readonly defaults?: Settings | undefined;
  /** Whether the settings files count (default). */
  readonly files?: 'read' | 'ignored';
  /** What it overrides in the policy that the settings make. */
  readonly policy?: PolicyInput | undefined;
  /** The command of the agent, with its arguments. */
  readonly command?: readonly string[];
  /** The agent as it is called; or any installed agent if the settings and the command name none. */
  readonly agent?: Spec['agent'] | 'any-installed' | undefined;
  /** Variables to add to the environment of this process. */
  readonly env?: Environment | undefined;
  readonly fresh?: boolean | undefined;
  /** False for a loop that is no child of the run that starts it. */
  readonly child?: boolean | undefined;
  readonly trust?: Agreed | undefined;
}

/** What a front can add that is no data. */
export interface StartHelp {
  /** How the front calls a setting; by default by its option. */
  readonly named?: (setting: string) => string;
  /** Called with the settings before an agent is chosen. */
  readonly loaded?: (loaded: Loaded) => void;
  /** The loop whose agent asks from a sandbox, for its owner. */
  readonly confinedTo?: SandboxedParent | undefined;
  /** Nothing is started: a consent to the settings counts only for this request. */
  readonly isDry?: boolean;
}

export interface Loaded {
  readonly files: SettingsFiles;
  /** The settings in effect. */
  readonly settings: Settings;
  /** Of the agent and the checks. */
  readonly env: Environment;
}

export interface MadeRequest extends Loaded {
  readonly request: LoopRequest;
  /** Whether a run asks, at whose end every process is ended that this one drives. */
  readonly isInside: boolean;
}

/** Throws `NeedsTrust` for settings that the user does not trust. */
export async function makeRequest(
  start: StartRequest,
  { named, loaded, confinedTo: upper, isDry = false }: StartHelp = {},
): Promise<MadeRequest> {
  const asked = upper === undefined ? start : confined(start, upper);
  const inside = upper === undefined ? parentRun() : askingRun(upper);
  const given = upper?.env ?? { ...startersEnvironment(process.env), ...asked.env };
  const { workspace } = asked;
  const read = await readSettings(asked.files === 'ignored' ? null : workspace);
  const files = { ...read, merged: mergeSettings(asked.defaults ?? {}, read.merged) };
  const change = asked.policy;
  const { settings, policy: wanted, notes } = effective(files, asked.settings, workspace, { change, named });
  const policy = upper === undefined ? wanted : withinSandbox(wanted, upper);
  const prompt = asked.prompt ?? promptWithoutTask(workspace, asked.name ?? null, policy);
  const trust = trustOf(read, workspace, asked.trust, inside);
  if (!trust.isTrusted) throw new NeedsTrust(trust);
  if (trust.open.length > 0 && !isDry) keepConsent(workspace, trust.open);
  const notices = noticeTargets(read, { settings, asked: asked.settings }, given, inside);
  const { env } = notices;
  loaded?.({ files, settings, env });
  const chosen = await chosenAgent(asked, policy, { files, settings, env });
  await checkSpendLimits(policy.limits, chosen.agent);
  const parent = asked.child === false ? null : inside;
  if (inside !== null && parent === null) refuseUnrelated(inside);
  const request: LoopRequest = {
    id: asked.id,
    workspace,
    name: asked.name ?? null,
    policy,
    agent: chosen.agent,
    notes: [
      ...chosen.notes,
      ...(asked.files === 'ignored' ? [] : adviceOn(settings)),
      ...notes,
      ...notices.notes,
      ...emptyConditions({ policy, prompt, workspace }),
    ],
    prompt,
    promptFrom: asked.promptFrom,
    env,
    notices,
    tags: asked.tags,
    fresh: asked.fresh === true,
    worktree: settings.worktree === true,
    worktreeAt: asked.worktreeAt,
    window: asked.window,
    parent,
    // Only the user can lift the budget: a repository, which the agent can write, cannot.
    paidBy: read.user?.children?.unrelated === true ? null : inside,
  };
  return { request, settings, files, env, isInside: inside !== null };
}

/** The agent that was asked for, else the one of the settings, and what the user should know about it. */
async function chosenAgent(
  { workspace, agent, command = [], settings: asked, env: given = {}, files: use }: StartRequest,
  policy: Policy,
  { files, settings, env }: Loaded,
): Promise<{ readonly agent: Spec['agent']; readonly notes: readonly string[] }> {
  if (typeof agent === 'object') return { agent, notes: [] };
  const choice = withSettings(
    {
      agent: asked.agent?.name ?? null,
      model: asked.agent?.model ?? null,
      command,
      promptVia: asked.agent?.promptVia ?? null,
      drop: settings.agent?.env?.drop ?? [],
      given: Object.keys(given),
    },
    files.merged.agent ?? {},
  );
  const isNamed = choice.agent !== null || choice.command.length > 0;
  const found = agent === undefined || isNamed ? null : firstInstalled(env, workspace);
  const hasOwn = use === 'ignored' || files.shared !== null || files.local !== null;
  const unused = noteOnOuterSettings(workspace, hasOwn);
  const named = { ...choice, agent: found ?? choice.agent, unused };
  const called = await chooseAgent(named, policy, env, workspace);
  const note = `using ${found}, the first installed agent; choose another with --agent`;
  return { agent: called, notes: [...(found === null ? [] : [note]), ...notesOn(called), ...unused] };
}
