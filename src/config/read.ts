/** Reads the settings files of a workspace, or says in which line of which file something is wrong. */
import { FAIL_ACTIONS } from '../loop/policy.ts';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isRecord } from '../loop/shape.ts';
import { reasonOf, UserError } from '../user-error.ts';
import { closest } from './closest.ts';
import { brokenAt, linesOf } from './locate.ts';
import { leaves, LOCAL_SETTINGS_FILE, mergeSettings, SETTINGS_FILE, type Settings } from './config.ts';
import type { SchemaProblem } from './schema.ts';

/** What the files say; null where there is none. */
export async function readSettings(workspace: string): Promise<SettingsFiles> {
  const shared = await readFile(workspace, SETTINGS_FILE);
  const local = await readFile(workspace, LOCAL_SETTINGS_FILE);
  return {
    shared: shared === null ? null : shared.settings,
    local: local === null ? null : local.settings,
    merged: mergeSettings(shared?.settings ?? {}, local?.settings ?? {}),
    origin: (key) => (local?.has(key) === true ? 'local' : shared?.has(key) === true ? 'file' : null),
    place(key) {
      const from = local?.has(key) === true ? local : shared?.has(key) === true ? shared : null;
      return from === null ? null : `${from.name}:${from.line(key)}`;
    },
  };
}

export interface SettingsFiles {
  readonly shared: Settings | null;
  readonly local: Settings | null;
  /** The local file over the shared one. */
  readonly merged: Settings;
  /** The file that a value comes from. */
  origin(key: string): 'file' | 'local' | null;
  /** That file, and the line. */
  place(key: string): string | null;
}

interface SettingsFile {
  readonly name: string;
  readonly settings: Settings;
  has(key: string): boolean;
  line(key: string): number;
}

async function readFile(workspace: string, name: string): Promise<SettingsFile | null> {
  const text = textOf(workspace, name);
  if (text === null) return null;
  const content = normalized(parse(name, text), name === SETTINGS_FILE);
  let lines: ReadonlyMap<string, number> | null = null;
  const { findSchemaProblems } = await import('./schema.ts');
  const problems = findSchemaProblems(content);
  if (problems.length > 0) {
    const found = linesOf(text);
    const told = problems.map((problem) => ({ line: lineOf(found, problem.path), text: describe(problem) }));
    const inOrder = told.toSorted((a, b) => a.line - b.line);
    const rest = inOrder.length - MOST_TOLD;
    throw failure([
      ...inOrder.slice(0, MOST_TOLD).map(({ line, text: what }) => `${name}:${line}: ${what}`),
      ...(rest > 0 ? [`… and ${rest} more`] : []),
    ]);
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema has just said so
  const settings = content as Settings;
  return {
    name,
    settings,
    has: (key) => leaves(settings).has(key.replace(/\[.*$/, '')),
    line: (key) => lineOf((lines ??= linesOf(text)), key),
  };
}

/** Nobody reads more of them at once. */
const MOST_TOLD = 20;

/** The text of a settings file; null where there is none. */
function textOf(workspace: string, name: string): string | null {
  const path = join(workspace, name);
  try {
    // A pipe would be waited for.
    if (!statSync(path).isFile() && !statSync(path).isDirectory()) throw new Error('it is not a file');
    return readFileSync(path, 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    if (error instanceof Error && 'code' in error && NOT_THERE.has(error.code)) return null;
    throw failure([`cannot read ${name}: ${reasonOf(error)}`]);
  }
}

const NOT_THERE: ReadonlySet<unknown> = new Set(['ENOENT', 'ENOTDIR']);

function parse(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const broken = brokenAt(text);
    throw failure([
      `${name}:${broken?.line ?? 1}: not valid JSON: expected ${broken?.expected ?? 'something else'}`,
    ]);
  }
}

/**
 * What document 001 leaves to whoever reads the file: a fail action in any case, and in the shared file a number or a
 * text that is nothing stands for the default.
 */
function normalized(content: unknown, isShared: boolean): unknown {
  if (!isRecord(content)) return content;
  const entries = Object.entries(content).flatMap(([key, value]): [string, unknown][] => {
    if (isShared && NOTHING_IS_DEFAULT.has(key) && (value === 0 || value === '')) return [];
    if (key === 'guardrails' && Array.isArray(value)) return [[key, value.map(inCapitals)]];
    if (isShared && key === 'agent' && isRecord(value) && value['command'] === '')
      return [[key, Object.fromEntries(Object.entries(value).filter(([name]) => name !== 'command'))]];
    return [[key, value]];
  });
  return Object.fromEntries(entries);
}

const NOTHING_IS_DEFAULT: ReadonlySet<string> = new Set([
  'maximumIterations',
  'completionResponse',
  'outputTruncateChars',
]);

function inCapitals(guardrail: unknown): unknown {
  if (!isRecord(guardrail) || typeof guardrail['failAction'] !== 'string') return guardrail;
  const action = guardrail['failAction'].toUpperCase();
  // Whatever is wrong is told as it was written.
  return FAIL_ACTIONS.some((known) => known === action) ? { ...guardrail, failAction: action } : guardrail;
}

function describe(problem: SchemaProblem): string {
  if ('must' in problem) {
    const subject = problem.path === '' ? 'the content' : problem.path;
    const got = problem.must === 'must not be empty' ? '' : `, got ${shown(problem.value)}`;
    return `${subject} ${problem.must}${got}`;
  }
  const near = closest(problem.unknown, problem.known);
  const hint = near === null ? `known are ${problem.known.join(', ')}` : `did you mean ${near}?`;
  return `unknown key ${JSON.stringify(problem.path)} (${hint})`;
}

function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

/** The line of a value, or of what it should stand in. */
function lineOf(lines: ReadonlyMap<string, number>, path: string): number {
  for (let place = path; place !== ''; place = place.replace(/(?:\.|^)[^.[\]]+$|\[\d+\]$/, '')) {
    const line = lines.get(place);
    if (line !== undefined) return line;
  }
  return lines.get('') ?? 1;
}

function failure(problems: readonly string[]): UserError {
  return new UserError(`failed to load settings: ${problems.join('\n  ')}`);
}
