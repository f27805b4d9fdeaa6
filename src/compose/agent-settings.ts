import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PromptVia } from '../agents/agent.ts';
import { isRecord, type Json } from '../agents/json.ts';
import { reasonOf, UserError } from '../user-error.ts';
import { promptWayOf } from './choose-agent.ts';

const SETTINGS = '.ralph/settings.json';

/** What `.ralph/settings.json`, and `settings.local.json` over it, say of the agent. */
export interface AgentSettings {
  readonly command: string | null;
  /** In place of those that let it work without asking; null where nothing is said of them. */
  readonly flags: readonly string[] | null;
  readonly model: string | null;
  readonly promptVia: PromptVia | null;
  readonly drop: readonly string[];
}

export function readAgentSettings(workspace: string): AgentSettings {
  const shared = agentIn(workspace, 'settings.json');
  const local = agentIn(workspace, 'settings.local.json');
  const agent: Json = { ...shared, ...local };
  const env: Json = { ...part(shared, 'env'), ...part(local, 'env') };
  const unknown = Object.keys(agent).find((key) => !KEYS.includes(key));
  if (unknown !== undefined) {
    throw new UserError(`${SETTINGS}: agent.${unknown} is unknown; known are ${KEYS.join(', ')}`);
  }
  const flags = texts(agent['flags'], 'agent.flags');
  return {
    command: text(agent['command'], 'agent.command'),
    // `--model opus` is two words to whoever gets it.
    flags: flags === null ? null : flags.flatMap((flag) => flag.split(/\s+/).filter((word) => word !== '')),
    model: text(agent['model'], 'agent.model'),
    promptVia: promptWayOf(`${SETTINGS}: agent.promptVia`, text(agent['promptVia'], 'agent.promptVia')),
    drop: texts(env['drop'], 'agent.env.drop') ?? [],
  };
}

const NOT_THERE: ReadonlySet<unknown> = new Set(['ENOENT', 'ENOTDIR']);

const KEYS: readonly string[] = ['command', 'flags', 'model', 'promptVia', 'env'];

function agentIn(workspace: string, name: string): Json {
  const path = join(workspace, '.ralph', name);
  let content: string;
  try {
    content = readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && NOT_THERE.has(error.code)) return {};
    throw new UserError(`cannot read .ralph/${name}: ${reasonOf(error)}`);
  }
  let settings: unknown;
  try {
    settings = JSON.parse(content);
  } catch (error) {
    throw new UserError(
      `.ralph/${name} is no JSON: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  if (!isRecord(settings)) throw wrong('', 'an object', settings);
  return part(settings, 'agent');
}

function part(settings: Json, key: string): Json {
  const value = settings[key];
  if (value === undefined) return {};
  if (!isRecord(value)) throw wrong(key, 'an object', value);
  return value;
}

function text(value: unknown, key: string): string | null {
  if (value === undefined) return null;
  if (typeof value !== 'string' || value === '') throw wrong(key, 'a text', value);
  return value;
}

function texts(value: unknown, key: string): readonly string[] | null {
  if (value === undefined) return null;
  if (!Array.isArray(value)) throw wrong(key, 'a list of texts', value);
  return value.map((item, index) => text(item, `${key}[${index}]`) ?? '');
}

function wrong(key: string, expected: string, got: unknown): UserError {
  return new UserError(
    `${SETTINGS}: ${key === '' ? 'it' : key} must be ${expected}, got ${JSON.stringify(got)}`,
  );
}
