import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isatty } from 'node:tty';
import { lookAround, type Surroundings } from '../views/look-around.ts';
import { writeSettings } from '../store/ralph-folder.ts';
import { startersEnvironment } from '../store/run-environment.ts';
import { withoutSecrets } from '../store/secrets.ts';
import { inDocumentNames } from '../config/aliases.ts';
import { readSettings } from '../config/read.ts';
import { LOCAL_SETTINGS_FILE, SETTINGS_FILE, type Settings } from '../config/config.ts';
import { PRESET_NAMES, type PresetName } from '../loop/policy.ts';
import { UserError } from '../user-error.ts';
import { askForSettings, askToOverwrite, settingsOf } from './init-questions.ts';
import { Aborted, atTerminal } from './init-terminal.ts';
import { oneOf } from './options.ts';
import { print, warn } from './print.ts';
import { workspaceOf } from './workspace.ts';

export interface InitOptions {
  readonly yes?: boolean;
  readonly force?: boolean;
  readonly preset?: string;
  readonly cwd?: string;
}

/** `ralph init`: writes the settings of a workspace, from what is found in it and what its user says. */
export async function init(options: InitOptions): Promise<number> {
  const workspace = workspaceOf(options);
  const preset = options.preset === undefined ? null : oneOf('--preset', options.preset, PRESET_NAMES);
  const env = startersEnvironment(process.env);
  if (options.yes === true)
    return initUnasked(workspace, lookAround(workspace, env), options.force === true, preset);
  if (!isatty(0) || !isatty(1)) {
    throw new UserError(
      'init requires an interactive terminal; without one, ralph init --yes takes what it finds in the workspace',
    );
  }
  const exists = existsSync(join(workspace, SETTINGS_FILE));
  const unchanged = exists ? `${SETTINGS_FILE} stays as it is.` : 'Nothing was written.';
  const mayAsk = options.force !== true && (await tellWhatIsThere(workspace, env));
  try {
    const settings = await atTerminal(
      async (person) => {
        if (mayAsk && !(await askToOverwrite(person))) return null;
        return askForSettings(person, lookAround(workspace, env));
      },
      (answers) => (answers === null ? unchanged : 'That is all.'),
    );
    if (settings !== null) await finish(workspace, settings, preset);
    return 0;
  } catch (error) {
    if (!(error instanceof Aborted)) throw error;
    warn('\nAborted.\n');
    return 130;
  }
}

async function initUnasked(
  workspace: string,
  found: Surroundings,
  isForced: boolean,
  preset: PresetName | null,
): Promise<number> {
  if (!isForced && existsSync(join(workspace, SETTINGS_FILE))) {
    throw new UserError(
      `${SETTINGS_FILE} is there already; ralph init --yes --force replaces it and keeps it as ${SETTINGS_FILE}.bak`,
    );
  }
  const [agent] = found.agents;
  if (agent === undefined)
    warn('note: no agent that ralph knows is installed, claude is taken; ralph agents tells how to get it\n');
  const checks = found.checks.map(({ command }) => ({ command, failAction: 'APPEND' as const }));
  if (checks.length === 0)
    warn('note: no checks were found; without checks the agent is taken at its word\n');
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

/** Shows the settings that hold so far, or what is wrong with them; tells whether there are any. */
async function tellWhatIsThere(workspace: string, env: Readonly<Record<string, string>>): Promise<boolean> {
  try {
    const { shared, local, merged } = await readSettings(workspace);
    if (shared === null && local === null) return false;
    const shown = inNamesOf(merged.preset, merged);
    print(`${JSON.stringify(withoutSecrets(shown, env), null, 2)}\n`);
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
  const written = preset === null ? settings : { $schema, preset, ...rest };
  const { backup } = writeSettings(workspace, inNamesOf(preset ?? (await localPreset(workspace)), written));
  print(`\nSettings written to ${SETTINGS_FILE}\n`);
  if (backup !== null) print(`What was there before is in ${backup}\n`);
  try {
    const { local } = await readSettings(workspace);
    if (local !== null) print(`${LOCAL_SETTINGS_FILE} still comes over them\n`);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    warn(`note: ralph run will still refuse ${reasonIn(error)}\n`);
  }
  print('ralph config shows what holds now; begin with: ralph run "what is to be done"\n');
}

/** The preset of document 001 keeps the names of its document. */
function inNamesOf(preset: PresetName | null | undefined, settings: Settings): object {
  return preset === 'ralph-cli' ? inDocumentNames(settings) : settings;
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
