import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { createLoop, type LoopRequest } from '../compose/open-loop.ts';
import { chooseAgent, notesOn, withSettings } from '../compose/choose-agent.ts';
import { checkSpendLimits } from '../compose/money.ts';
import { withoutSecrets } from '../compose/secrets.ts';
import { insideRun, startersEnvironment } from '../compose/run-environment.ts';
import { effective } from '../config/effective.ts';
import { readSettings, type SettingsFiles } from '../config/read.ts';
import { LOCAL_SETTINGS_FILE, SETTINGS_FILE, type Settings } from '../config/settings.ts';
import { parseVariables } from '../config/values.ts';
import { reasonOf, UserError } from '../user-error.ts';
import { detailLine } from './console.ts';
import { drive } from './drive.ts';
import { flagSettings, viewOf, type RunOptions } from './options.ts';
import { warn } from './print.ts';
import { workspaceOf } from './workspace.ts';

/** `ralph run`: creates a loop and drives it to its end. */
export async function runLoop(
  task: string | null,
  options: RunOptions,
  command: readonly string[],
): Promise<number> {
  if (options.owner !== undefined) {
    const { own } = await import('./own.ts');
    return own(options.owner);
  }
  const workspace = workspaceOf(options);
  const prompt = promptOf(task, options);
  const flags = flagSettings(options);
  const files = await readSettings(workspace);
  const { settings, policy } = effective(files, flags, workspace);
  const given = parseVariables('--env', options.env);
  const env = { ...startersEnvironment(process.env), ...given };
  const view = viewOf(options, settings);
  if (options.verbose === true) tellSettings(files, settings, env);
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
  const agent = await chooseAgent(choice, policy.calls, env, workspace);
  await checkSpendLimits(policy.limits, agent);
  const request: LoopRequest = {
    workspace,
    name: options.name ?? null,
    policy,
    agent,
    notes: notesOn(agent),
    prompt,
    env,
    fresh: options.fresh === true,
    parent: null,
  };
  const parent = insideRun(process.env);
  if (parent === null) return drive(await createLoop(request), view);
  const { runAsChild } = await import('./child.ts');
  return runAsChild(request, parent, view);
}

/** Which files were read, and what they come to. */
function tellSettings(files: SettingsFiles, settings: Settings, env: Readonly<Record<string, string>>): void {
  const loaded = [
    ...(files.shared === null ? [] : [SETTINGS_FILE]),
    ...(files.local === null ? [] : [LOCAL_SETTINGS_FILE]),
  ];
  for (const file of loaded) warn(`${detailLine(`Loading settings from ${file}`)}\n`);
  warn(`${detailLine(`Settings: ${JSON.stringify(withoutSecrets(settings, env))}`)}\n`);
}

/** The one prompt that was given; an empty one counts as none. */
function promptOf(task: string | null, { prompt, promptFile }: RunOptions): LoopRequest['prompt'] {
  const texts = [task, prompt].filter((text) => text !== null && text !== undefined && text !== '');
  const file = promptFile === undefined || promptFile === '' ? null : promptFile;
  if (texts.length > 0 && file !== null)
    throw new UserError('cannot specify both --prompt and --prompt-file');
  if (texts.length > 1) throw new UserError('cannot specify both a task and --prompt');
  const [text] = texts;
  if (text !== undefined && text !== null) return { text };
  if (file === null) throw new UserError('must specify prompt (--prompt or --prompt-file)');
  if (file === '-') {
    const read = readFileSync(0, 'utf8');
    if (read.trim() === '') throw new UserError('there is no prompt on the standard input (--prompt-file -)');
    return { text: read };
  }
  const path = resolve(file);
  try {
    const found = statSync(path);
    if (found.isDirectory()) throw new UserError(`prompt file is a folder: ${file}`);
    const read = readFileSync(path, 'utf8');
    // A pipe can be read once.
    if (!found.isFile()) return { text: read };
  } catch (error) {
    if (error instanceof UserError) throw error;
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT')
      throw new UserError(`prompt file not found: ${file}`);
    throw new UserError(`cannot read prompt file: ${file}: ${reasonOf(error)}`);
  }
  return { file: path };
}
