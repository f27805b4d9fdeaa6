/** The user's own settings for all workspaces: `$XDG_CONFIG_HOME/ralph/settings.json`. They have only what `KNOWN` names. */
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { fits, flag, isRecord, partial } from '../loop/shape.ts';
import { reasonOf, UserError } from '../user-error.ts';
import type { Settings } from './settings.ts';

export interface UserSettings extends Pick<Settings, 'sandbox' | 'mcp' | 'notify' | 'on'> {
  /** Whether a loop that is started from inside a run with `--no-child` counts in no budget. A repository cannot allow that. */
  readonly children?: { readonly unrelated?: boolean };
}

/** Null if there is no such file. */
export async function readUserSettings(env: NodeJS.ProcessEnv = process.env): Promise<UserSettings | null> {
  const path = userSettingsFile(env);
  const text = textOf(path);
  if (text === null) return null;
  const content = parsed(text);
  if (!isRecord(content)) throw failure(path, 'must be a JSON object, for example: {"sandbox": true}');
  const unknown = Object.keys(content).find((key) => !KNOWN.has(key));
  if (unknown !== undefined)
    throw failure(
      path,
      `unknown key ${JSON.stringify(unknown)} (this file can have only sandbox, mcp, notify, on and children.unrelated)`,
    );
  const { children, ...rest } = content;
  if (children !== undefined && !fits(partial({ unrelated: flag }), children))
    throw failure(path, 'children can have only "unrelated", which is true or false');
  const { findSchemaProblems } = await import('./schema.ts');
  const [problem] = findSchemaProblems(rest);
  if (problem !== undefined) {
    const what = 'must' in problem ? problem.must : `is unknown; known keys are ${problem.known.join(', ')}`;
    throw failure(path, `${problem.path} ${what}`);
  }
  return content;
}

const KNOWN: ReadonlySet<string> = new Set(['$schema', 'sandbox', 'mcp', 'notify', 'on', 'children']);

export function userSettingsFile(env: NodeJS.ProcessEnv = process.env): string {
  const configured = env['XDG_CONFIG_HOME'];
  const base = configured !== undefined && isAbsolute(configured) ? configured : join(home(env), '.config');
  return join(base, 'ralph', 'settings.json');
}

function home(env: NodeJS.ProcessEnv): string {
  const stated = env['HOME'];
  return stated === undefined || stated === '' ? homedir() : stated;
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR'))
      return null;
    throw failure(path, `cannot be read: ${reasonOf(error)}`);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function failure(path: string, problem: string): UserError {
  return new UserError(`failed to load settings: ${path}: ${problem}`);
}
