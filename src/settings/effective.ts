/** The settings in effect (flags override the local file, that overrides the shared file, that overrides the preset) and their origins. */
import { DEFAULT_POLICY } from '../loop/default-policy.ts';
import type { Policy } from '../loop/policy.ts';
import { presets } from '../loop/presets.ts';
import { describeProblem, resolvePolicy, type PolicyInput } from '../loop/validate.ts';
import { UserError } from '../user-error.ts';
import { allowedChanges } from './mcp.ts';
import { combinedSandbox } from './sandbox.ts';
import { userSettingsFile } from './user-settings.ts';
import { withoutAddresses } from './notify.ts';
import { OUTSIDE_POLICY, policyInput, settingOf, settingsOf } from './policy.ts';
import type { SettingsFiles } from './read.ts';
import { FLAGS, leaves, mergeSettings, type Origin, type Settings } from './settings.ts';

/** The settings of a workspace, overridden by those of a front. */
export function effective(
  files: SettingsFiles,
  flags: Settings,
  workspace: string,
  { change = {}, named = (key) => FLAGS[stemOf(key)] ?? key }: Adjustments = {},
): Effective {
  const merged = mergeSettings(files.merged, flags);
  const name = merged.preset ?? 'default';
  const preset = Object.values(presets).find(({ policy }) => policy.preset === name);
  // Some presets treat a limit of 0 as not given.
  const isUnset = preset?.iterations.zeroIsUnset === true && merged.maxIterations === 0;
  const sandbox = combinedSandbox({ ...files, flag: flags.sandbox });
  const settings = {
    ...merged,
    ...(isUnset ? { maxIterations: files.merged.maxIterations } : {}),
    ...withAllDrops(merged, files.shared, files.local, flags),
    sandbox: sandbox.sandbox,
    mcp: { allow: allowedChanges(files) },
  };
  const given = isUnset ? { ...flags, maxIterations: undefined } : flags;
  if (merged.scm?.command === undefined && (merged.scm?.tasks ?? []).length > 0)
    throw new UserError(
      `${files.place('scm.tasks')}: scm.command must be configured when scm.tasks is non-empty, for example: "command": "git"`,
    );
  const input = policyInput(settings, preset?.policy ?? DEFAULT_POLICY, workspace);
  const policy = policyOf(settings, input, change, (key) => placeIn(files, given, key) ?? named(key));
  const presetNotes = flags.preset === undefined && files.presetNote !== null ? [files.presetNote] : [];
  return { settings, flags: given, policy, notes: [...presetNotes, ...sandbox.notes] };
}

export interface Adjustments {
  /** What is changed in the policy that the settings make. */
  readonly change?: PolicyInput | undefined;
  /** How a setting is called that is in no file; by default by its option. */
  readonly named?: ((key: string) => string) | undefined;
}

/** Hidden variables add up over all layers, so that no layer can reveal what another one hides. */
function withAllDrops(merged: Settings, ...layers: readonly (Settings | null)[]): Pick<Settings, 'agent'> {
  const drop = [...new Set(layers.flatMap((layer) => layer?.agent?.env?.drop ?? []))];
  return drop.length === 0 ? {} : { agent: { ...merged.agent, env: { drop } } };
}

export interface Effective {
  readonly settings: Settings;
  /** The flags that apply. */
  readonly flags: Settings;
  readonly policy: Policy;
  /** What the user should know about them. */
  readonly notes: readonly string[];
}

/** Every setting with its value and its origin. */
export function provenance(files: SettingsFiles, { settings, flags, policy }: Effective): readonly Setting[] {
  const byDefault = settingsOf(DEFAULT_POLICY);
  const byPreset = settingsOf(presets[policy.preset].policy);
  const given = leaves(settings);
  const inFlags = leaves(flags);
  const values = {
    ...settingsOf(policy),
    ...Object.fromEntries(
      Object.entries(OUTSIDE_POLICY).map(([key, value]) => [key, given.get(key) ?? value]),
    ),
    ...Object.fromEntries([...given].filter(([key]) => key.startsWith('on.'))),
  };
  return Object.entries(values).map(([key, value]) => {
    if (inFlags.has(key)) return { key, value, origin: 'flag', place: FLAGS[key] ?? null };
    const isFromPreset = JSON.stringify(byPreset[key]) !== JSON.stringify(byDefault[key]);
    if (key.startsWith('sandbox') && files.user?.sandbox !== undefined)
      return { key, value, origin: 'user', place: userSettingsFile() };
    if (key === 'notify' && files.user?.notify !== undefined) {
      const all = [...(withoutAddresses(files.user.notify) ?? []), ...(settings.notify ?? [])];
      return { key, value: all, origin: 'user', place: userSettingsFile() };
    }
    if (key === 'mcp.allow' && files.user?.mcp?.allow !== undefined && files.origin(key) === null)
      return { key, value, origin: 'user', place: userSettingsFile() };
    const origin = files.origin(key) ?? (isFromPreset ? 'preset' : 'default');
    if (origin === 'preset') return { key, value, origin, place: `preset ${policy.preset}` };
    const isDefaultUntil = key === 'until' && origin === 'default';
    return { key, value, origin, place: isDefaultUntil ? untilByDefault(policy) : files.place(key) };
  });
}

/** The default of `until` depends on the checks. */
function untilByDefault({ checks }: Policy): string {
  return checks.commands.length > 0 ? 'default with checks' : 'default without checks';
}

export interface Setting {
  readonly key: string;
  readonly value: unknown;
  readonly origin: Origin;
  /** The position in a file, the preset or the option; null for a default, except that of `until`. */
  readonly place: string | null;
}

function policyOf(
  settings: Settings,
  input: PolicyInput,
  change: PolicyInput,
  nameOf: (key: string) => string,
): Policy {
  const resolution = resolvePolicy({ preset: settings.preset, ...input }, change);
  if (resolution.ok) return resolution.policy;
  const described = resolution.problems.map((problem) => {
    const key = settingOf(problem.field, settings);
    return describeProblem(key === null ? problem : { ...problem, field: nameOf(key) });
  });
  throw new UserError(described.join('; '));
}

/** The position in a file and the key as it is written there; null if no file sets it, or it is overridden. */
function placeIn(files: SettingsFiles, flags: Settings, key: string): string | null {
  const where = leaves(flags).has(stemOf(key)) ? null : files.place(key);
  return where === null ? null : `${where}: ${files.written(key)}`;
}

function stemOf(key: string): string {
  return key.replace(/\[\d+\].*$/, '');
}
