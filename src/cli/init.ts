import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isatty } from 'node:tty';
import { lookAround, type Surroundings } from '../surroundings/look-around.ts';
import { keepConsent } from '../store/trust-of.ts';
import { writeSettings } from '../store/ralph-folder.ts';
import { startersEnvironment } from '../store/run-environment.ts';
import { withoutSecrets } from '../loop/secrets.ts';
import { inDocumentNames } from '../config/aliases.ts';
import { contentIn } from '../config/consent.ts';
import { readSettings } from '../config/read.ts';
import { LOCAL_SETTINGS_FILE, SETTINGS_FILE, type Settings } from '../config/config.ts';
import { PRESET_NAMES, type PresetName } from '../loop/policy.ts';
import { presets } from '../loop/presets.ts';
import { reasonOf, UserError } from '../user-error.ts';
import { askForSettings, askToOverwrite, settingsOf } from './init-questions.ts';
import { Aborted, atTerminal } from './init-terminal.ts';
import { oneOf } from './options.ts';
import { print, printJson, warn } from './print.ts';
import { workspaceOf } from './workspace.ts';

export interface InitOptions {
  readonly yes?: boolean;
  readonly force?: boolean;
  readonly preset?: string;
  readonly cwd?: string;
}

/** `ralph init`: writes the settings of a workspace, from what it contains and what the user answers. */
export async function init(options: InitOptions): Promise<number> {
  const workspace = workspaceOf(options);
  const preset = options.preset === undefined ? null : oneOf('--preset', options.preset, PRESET_NAMES);
  const env = startersEnvironment(process.env);
  if (options.yes === true)
    return initWithoutQuestions(workspace, lookAround(workspace, env), options.force === true, preset);
  if (!isatty(0) || !isatty(1)) {
    throw new UserError('init requires an interactive terminal; without one, use: ralph init --yes');
  }
  const exists = existsSync(join(workspace, SETTINGS_FILE));
  const unchanged = exists ? `${SETTINGS_FILE} is unchanged.` : 'Nothing was written.';
  const mayAsk = options.force !== true && (await printExistingSettings(workspace, env));
  try {
    const settings = await atTerminal(
      async (prompter) => {
        if (mayAsk && !(await askToOverwrite(prompter))) return null;
        return askForSettings(prompter, lookAround(workspace, env));
      },
      (answers) => (answers === null ? unchanged : 'Done.'),
    );
    if (settings !== null) await finish(workspace, settings, preset);
    return 0;
  } catch (error) {
    if (!(error instanceof Aborted)) throw error;
    warn('\nAborted.\n');
    return 130;
  }
}

async function initWithoutQuestions(
  workspace: string,
  found: Surroundings,
  isForced: boolean,
  preset: PresetName | null,
): Promise<number> {
  if (!isForced && existsSync(join(workspace, SETTINGS_FILE))) {
    throw new UserError(
      `${SETTINGS_FILE} already exists; replace it with: ralph init --yes --force (it is kept as ${SETTINGS_FILE}.bak)`,
    );
  }
  const [agent] = found.agents;
  if (agent === undefined)
    warn(
      'note: no supported agent is installed; the settings name claude (see ralph agents to install it)\n',
    );
  const checks = found.checks.map(({ command }) => ({ command, failAction: 'APPEND' as const }));
  if (checks.length === 0)
    warn('note: no checks found; without checks, ralph cannot verify that the work is done\n');
  const command = agent ?? 'claude';
  print(`Agent: ${command}\n`);
  for (const check of found.checks) print(`Check: ${check.command} (${check.from})\n`);
  await finish(
    workspace,
    settingsOf(found, {
      maxIterations: 10,
      completionResponse: 'DONE',
      agent: { command, flags: [] },
      checks,
      scm: null,
    }),
    preset,
  );
  return 0;
}

/** Prints the existing settings, or what is wrong with them; returns whether there are any. */
async function printExistingSettings(
  workspace: string,
  env: Readonly<Record<string, string>>,
): Promise<boolean> {
  try {
    const { shared, local, merged } = await readSettings(workspace);
    if (shared === null && local === null) return false;
    const shown = inNamesOf(merged.preset, merged);
    printJson(withoutSecrets(shown, env), 2);
    const overlay = local === null ? '' : ' (with local overlay from settings.local.json)';
    print(`Loaded from ${shared === null ? LOCAL_SETTINGS_FILE : `${SETTINGS_FILE}${overlay}`}\n`);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    warn(`ralph: error: existing settings file is malformed: ${reasonIn(error)}\n`);
  }
  return true;
}

async function finish(workspace: string, settings: Settings, preset: PresetName | null): Promise<void> {
  const { $schema, ...rest } = settings;
  const schema = $schema === undefined ? {} : { $schema };
  const written = preset === null ? settings : { ...schema, preset, ...rest };
  const { backup } = writeSettings(workspace, inNamesOf(preset ?? (await localPreset(workspace)), written));
  trustWritten(workspace, written);
  print(`\nSettings written to ${SETTINGS_FILE}\n`);
  if (backup !== null) print(`The old settings are in ${backup}\n`);
  try {
    const { local } = await readSettings(workspace);
    if (local !== null) print(`${LOCAL_SETTINGS_FILE} still overrides them\n`);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    warn(`note: ralph run still fails: ${reasonIn(error)}\n`);
  }
  print('Start a loop with: ralph run "your task" (show all settings with: ralph config)\n');
}

/** Trusts exactly what was written, not what is in the file by now. */
function trustWritten(workspace: string, written: Settings): void {
  try {
    keepConsent(workspace, contentIn(SETTINGS_FILE, written));
  } catch (error) {
    warn(`note: ralph run will ask whether you trust these settings: ${reasonOf(error)}\n`);
  }
}

/** The preset of document 001 keeps the names of its document. */
function inNamesOf(preset: PresetName | null | undefined, settings: Settings): object {
  const isDocumented = preset !== null && preset !== undefined && presets[preset].documentedSettings;
  return isDocumented === true ? inDocumentNames(settings) : settings;
}

/** The preset of the local file, which overrides the shared file; null if there is none. */
async function localPreset(workspace: string): Promise<PresetName | null> {
  try {
    return (await readSettings(workspace)).local?.preset ?? null;
  } catch (error) {
    // `finish` reports it once the new settings are written.
    if (error instanceof UserError) return null;
    throw error;
  }
}

function reasonIn(error: UserError): string {
  return error.message.replace(/^failed to load settings: /, '');
}
