import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isatty } from 'node:tty';
import { type Suggestions, suggestionsFor } from '../loops/suggestions.ts';
import { settingsInFiles, writeShared } from '../loops/settings.ts';
import { LOCAL_SETTINGS_FILE, SETTINGS_FILE, type Settings } from '../settings/settings.ts';
import { PRESET_NAMES, type PresetName } from '../loop/policy.ts';
import { presets } from '../loop/presets.ts';
import { UserError } from '../user-error.ts';
import { askForDocument, documentSettings } from './init-document.ts';
import { askForSettings, askToOverwrite, NO_CHECKS, settingsOf } from './init-questions.ts';
import { Aborted, atTerminal } from './init-terminal.ts';
import { oneOf } from './options.ts';
import { print, printJson, warn } from './print.ts';
import { workspaceOf } from './workspace.ts';

export interface InitOptions {
  readonly yes?: boolean;
  readonly force?: boolean;
  readonly advanced?: boolean;
  readonly preset?: string;
  readonly cwd?: string;
}

/** `ralph init`: writes the settings of a workspace, from what it contains and what the user answers. */
export async function init(options: InitOptions): Promise<number> {
  const workspace = workspaceOf(options);
  const preset = options.preset === undefined ? null : oneOf('--preset', options.preset, PRESET_NAMES);
  const { yes = false, force = false, advanced = false } = options;
  if (advanced && yes) throw new UserError('--yes asks nothing, and --advanced asks more; drop one of them');
  if (yes) return initWithoutQuestions(workspace, suggestionsFor(workspace), force, preset);
  if (!isatty(0) || !isatty(1)) {
    throw new UserError('init requires an interactive terminal; without one, use: ralph init --yes');
  }
  const exists = existsSync(join(workspace, SETTINGS_FILE));
  const unchanged = exists ? `${SETTINGS_FILE} is unchanged.` : 'Nothing was written.';
  const mayAsk = !force && (await printExistingSettings(workspace));
  try {
    const settings = await atTerminal(
      async (prompter) => {
        if (mayAsk && !(await askToOverwrite(prompter))) return null;
        const found = suggestionsFor(workspace);
        return isOfDocument(preset)
          ? askForDocument(prompter, found)
          : askForSettings(prompter, found, advanced);
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
  found: Suggestions,
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
  const checks = found.checks.map(({ command }) => command);
  if (checks.length === 0) warn(`note: no checks found. ${NO_CHECKS}\n`);
  const command = agent?.command ?? 'claude';
  print(`Agent: ${command}${agent === undefined ? '' : ` (${agent.login})`}\n`);
  for (const check of found.checks) print(`Check: ${check.command} (${check.from})\n`);
  await finish(
    workspace,
    isOfDocument(preset)
      ? documentSettings(found, {
          maxIterations: 10,
          completionResponse: 'DONE',
          agent: { command, flags: [] },
          checks: checks.map((one) => ({ command: one, failAction: 'APPEND' })),
          scm: null,
        })
      : settingsOf(found, { agent: { command, flags: [] }, checks, commits: false }),
    preset,
  );
  return 0;
}

/** Whether the preset keeps the questions and the file of document 001. */
function isOfDocument(preset: PresetName | null): boolean {
  return preset !== null && presets[preset].documentedSettings === true;
}

/** Prints the existing settings, or what is wrong with them; returns whether there are any. */
async function printExistingSettings(workspace: string): Promise<boolean> {
  try {
    const { settings, isShared, isLocal } = await settingsInFiles(workspace);
    if (!isShared && !isLocal) return false;
    printJson(settings, 2);
    const overlay = isLocal ? ' (with local overlay from settings.local.json)' : '';
    print(`Loaded from ${!isShared ? LOCAL_SETTINGS_FILE : `${SETTINGS_FILE}${overlay}`}\n`);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    warn(`ralph: error: existing settings file is malformed: ${reasonIn(error)}\n`);
  }
  return true;
}

async function finish(workspace: string, settings: Settings, preset: PresetName | null): Promise<void> {
  const { backup, untrusted } = await writeShared(workspace, settings, preset);
  if (untrusted !== null) warn(`note: ralph run will ask whether you trust these settings: ${untrusted}\n`);
  print(`\nSettings written to ${SETTINGS_FILE}\n`);
  if (backup !== null) print(`The old settings are in ${backup}\n`);
  try {
    if ((await settingsInFiles(workspace)).isLocal) print(`${LOCAL_SETTINGS_FILE} still overrides them\n`);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    warn(`note: ralph run still fails: ${reasonIn(error)}\n`);
  }
  print('Start a loop with: ralph run "your task" (show all settings with: ralph config)\n');
}

function reasonIn(error: UserError): string {
  return error.message.replace(/^failed to load settings: /, '');
}
