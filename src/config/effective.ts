/** What holds in a workspace: flags over the local file over the shared one over the preset, and where each value is from. */
import { DEFAULT_POLICY } from '../loop/default-policy.ts';
import type { Policy } from '../loop/policy.ts';
import { presets } from '../loop/presets.ts';
import { describeProblem, resolvePolicy } from '../loop/validate.ts';
import { UserError } from '../user-error.ts';
import { policyInput, settingOf, settingsOf } from './policy.ts';
import type { SettingsFiles } from './read.ts';
import { FLAGS, leaves, mergeSettings, type Origin, type Settings } from './config.ts';

/** The settings of a workspace with what the command line says over them. */
export function effective(files: SettingsFiles, flags: Settings, workspace: string): Effective {
  const merged = mergeSettings(files.merged, flags);
  const name = merged.preset ?? 'default';
  const preset = Object.values(presets).find(({ policy }) => policy.preset === name);
  // To some a limit of nothing is as good as none that was given.
  const isUnset = preset?.iterations.zeroIsUnset === true && merged.maximumIterations === 0;
  const settings = {
    ...merged,
    ...(isUnset ? { maximumIterations: files.merged.maximumIterations } : {}),
    ...withAllDrops(merged, files.shared, files.local, flags),
  };
  const given = isUnset ? { ...flags, maximumIterations: undefined } : flags;
  const policy = policyOf(settings, preset?.policy ?? DEFAULT_POLICY, workspace, files, given);
  return { settings, flags: given, policy };
}

/** What an agent may not see is never taken back by naming something else that it may not see. */
function withAllDrops(merged: Settings, ...layers: readonly (Settings | null)[]): Pick<Settings, 'agent'> {
  const drop = [...new Set(layers.flatMap((layer) => layer?.agent?.env?.drop ?? []))];
  return drop.length === 0 ? {} : { agent: { ...merged.agent, env: { drop } } };
}

export interface Effective {
  readonly settings: Settings;
  /** What of the command line counts. */
  readonly flags: Settings;
  readonly policy: Policy;
}

/** Every setting, what it is, and where it comes from. */
export function provenance(files: SettingsFiles, { settings, flags, policy }: Effective): readonly Setting[] {
  const byDefault = settingsOf(DEFAULT_POLICY);
  const byPreset = settingsOf(presets[policy.preset].policy);
  const given = leaves(settings);
  const inFlags = leaves(flags);
  const values = {
    ...settingsOf(policy),
    ...Object.fromEntries(Object.entries(APART).map(([key, value]) => [key, given.get(key) ?? value])),
  };
  return Object.entries(values).map(([key, value]) => {
    if (inFlags.has(key)) return { key, value, origin: 'flag', place: FLAGS[key] ?? null };
    const isByPreset = JSON.stringify(byPreset[key]) !== JSON.stringify(byDefault[key]);
    const origin = files.origin(key) ?? (isByPreset ? 'preset' : 'default');
    if (origin === 'preset') return { key, value, origin, place: `preset ${policy.preset}` };
    const isByChecks = key === 'until' && origin === 'default';
    return { key, value, origin, place: isByChecks ? untilByDefault(policy) : files.place(key) };
  });
}

/** This default depends on something else. */
function untilByDefault({ checks }: Policy): string {
  return checks.commands.length > 0 ? 'default with checks' : 'default without checks';
}

export interface Setting {
  readonly key: string;
  readonly value: unknown;
  readonly origin: Origin;
  /** The file and line, the preset or the option; null for a default, unless it depends on something. */
  readonly place: string | null;
}

/** What is not part of a policy. */
const APART: Readonly<Record<string, unknown>> = {
  worktree: false,
  streamAgentOutput: true,
  emoji: 'auto',
  timestamps: false,
  outputLines: 3,
  outputChars: 120,
  'agent.name': null,
  'agent.command': null,
  'agent.flags': null,
  'agent.model': null,
  'agent.promptVia': null,
  'agent.env.drop': null,
};

function policyOf(
  settings: Settings,
  base: Policy,
  workspace: string,
  files: SettingsFiles,
  flags: Settings,
): Policy {
  const { scm } = settings;
  if (scm?.command === undefined && (scm?.tasks ?? []).length > 0) {
    throw new UserError(
      `${files.place('scm.tasks')}: scm.command must be configured when scm.tasks is non-empty, for example: "command": "git"`,
    );
  }
  const resolution = resolvePolicy({ preset: settings.preset, ...policyInput(settings, base, workspace) });
  if (resolution.ok) return resolution.policy;
  const problems = resolution.problems.map((problem) => {
    const key = settingOf(problem.field, settings);
    return describeProblem(key === null ? problem : { ...problem, field: place(key, files, flags) });
  });
  throw new UserError(problems.join('; '));
}

/** A setting by the name that its user knows it by. */
function place(key: string, files: SettingsFiles, flags: Settings): string {
  const stem = key.replace(/\[\d+\].*$/, '');
  const flag = FLAGS[stem];
  const where = leaves(flags).has(stem) ? null : files.place(key);
  return where === null ? (flag ?? key) : `${where}: ${key}`;
}
