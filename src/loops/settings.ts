/** The settings of a workspace, for fronts: which are in effect, and the writing of new ones. Nothing that goes out has a secret. */
import { writeSettings } from '../workspace/workspace-folder.ts';
import { startersEnvironment } from '../home/run-environment.ts';
import type { PresetName } from '../loop/policy.ts';
import { presets } from '../loop/presets.ts';
import { withoutSecrets } from '../loop/secrets.ts';
import { isForOtherAgent } from '../owner/choose-agent.ts';
import { inDocumentNames } from '../settings/aliases.ts';
import { contentIn } from '../settings/consent.ts';
import { type Setting, effective, provenance } from '../settings/effective.ts';
import { type SettingsFiles, readSettings } from '../settings/read.ts';
import { SETTINGS_FILE, type Settings } from '../settings/settings.ts';
import { type Trust, keepConsent, trustOf } from '../settings/trust-of.ts';
import { UserError, reasonOf } from '../user-error.ts';

/** Every setting that a loop started now would have, and whether the user trusts the files; `given` override them. */
export async function settingsInEffect(
  workspace: string,
  given: Settings,
): Promise<{ readonly settings: readonly Setting[]; readonly trust: Trust }> {
  const read = await readSettings(workspace);
  const isOther = isForOtherAgent(read.merged.agent ?? {}, given.agent?.name ?? null);
  const files = isOther ? withoutAgent(read) : read;
  const settings = provenance(files, effective(files, given, workspace)).map(
    ({ key, value, origin, place }): Setting => ({ key, value: masked(value), origin, place }),
  );
  return { settings, trust: trustOf(read, workspace) };
}

/** Drops the settings of another agent than the one that was chosen. */
function withoutAgent(files: SettingsFiles): SettingsFiles {
  const { merged } = files;
  return {
    ...files,
    merged: { ...merged, agent: { env: merged.agent?.env } },
    origin: (key) => (describesAgent(key) ? null : files.origin(key)),
    place: (key) => (describesAgent(key) ? null : files.place(key)),
  };
}

function describesAgent(key: string): boolean {
  return /^agent\.(?!env\.)/.test(key);
}

/** What the settings files of a workspace say together, in the names of their preset. */
export async function settingsInFiles(
  workspace: string,
): Promise<{ readonly settings: unknown; readonly isShared: boolean; readonly isLocal: boolean }> {
  const { shared, local, merged } = await readSettings(workspace);
  const settings = masked(inNamesOf(merged.preset, merged));
  return { settings, isShared: shared !== null, isLocal: local !== null };
}

function masked(value: unknown): unknown {
  return withoutSecrets(value, startersEnvironment(process.env));
}

export interface WrittenSettings {
  /** The copy of earlier settings. */
  readonly backup: string | null;
  /** Why they are not trusted yet. */
  readonly untrusted: string | null;
}

/** Writes the shared settings of a workspace, and trusts exactly what was written, not what is in the file by now. */
export async function writeShared(
  workspace: string,
  settings: Settings,
  preset: PresetName | null,
): Promise<WrittenSettings> {
  const { $schema, ...rest } = settings;
  const schema = $schema === undefined ? {} : { $schema };
  const written = preset === null ? settings : { ...schema, preset, ...rest };
  const { backup } = writeSettings(workspace, inNamesOf(preset ?? (await localPreset(workspace)), written));
  try {
    keepConsent(workspace, contentIn(SETTINGS_FILE, written));
    return { backup, untrusted: null };
  } catch (error) {
    return { backup, untrusted: reasonOf(error) };
  }
}

/** The preset of document 001 keeps the names of its document. */
function inNamesOf(preset: PresetName | null | undefined, settings: Settings): object {
  const isDocumented = preset !== null && preset !== undefined && presets[preset].documentedSettings;
  return isDocumented === true ? inDocumentNames(settings) : inShort(settings);
}

/** A check that is only a command is written as its text. */
function inShort(settings: Settings): object {
  const { checks } = settings;
  if (checks === undefined) return settings;
  const short = checks.map((check) => (Object.keys(check).length === 1 ? check.command : check));
  return { ...settings, checks: short };
}

/** The preset of the local file, which overrides the shared file; null if there is none. */
async function localPreset(workspace: string): Promise<PresetName | null> {
  try {
    return (await readSettings(workspace)).local?.preset ?? null;
  } catch (error) {
    // A front reads the files again once the new settings are written.
    if (error instanceof UserError) return null;
    throw error;
  }
}
