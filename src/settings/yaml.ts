/** Reads the configuration file of document 002, a YAML block `ralph_loop` (or `ralph`), as settings. */
import { load } from 'js-yaml';
import { readGiven } from '../files/given-file.ts';
import { isRecord } from '../loop/shape.ts';
import { reasonOf, UserError } from '../user-error.ts';
import { closest } from './closest.ts';
import { mergeSettings, type Settings } from './settings.ts';

/** A value of `null` is the same as an absent key. */
export function readYaml(path: string): Settings {
  const content = parseYaml(path, textOf(path));
  if (content === null || content === undefined) return {};
  if (!isRecord(content)) throw wrong(path, 'the content', 'a mapping with a block ralph_loop', content);
  const name = BLOCKS.find((block) => content[block] !== undefined && content[block] !== null);
  if (name === undefined) return {};
  const block = content[name];
  if (!isRecord(block)) throw wrong(path, name, 'a mapping', block);
  let settings: Settings = {};
  for (const [key, value] of Object.entries(block)) {
    const read = KEYS[key];
    if (read === undefined) throw unknown(path, `${name}.${key}`, key);
    if (value === null) continue;
    const parsed = read.parse(value);
    if (parsed === null) throw wrong(path, `${name}.${key}`, read.expected, value);
    settings = mergeSettings(settings, parsed);
  }
  return settings;
}

const BLOCKS = ['ralph_loop', 'ralph'] as const;

interface Key {
  readonly expected: string;
  /** Null for an invalid value. */
  parse(value: unknown): Settings | null;
}

const KEYS: Readonly<Record<string, Key>> = {
  max_iterations: {
    expected: 'a whole number from 1 to 100',
    parse: (value) =>
      Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 100
        ? { maxIterations: Number(value) }
        : null,
  },
  max_cost: {
    expected: 'an amount of dollars >= 0',
    // 0 means unlimited.
    parse: (value) => (isAmount(value) ? (value === 0 ? {} : { maxCost: value }) : null),
  },
  max_time: {
    expected: 'a number of seconds >= 0',
    parse: (value) => (isAmount(value) ? (value === 0 ? {} : { maxTime: value }) : null),
  },
  completion_tag: {
    expected: 'a string',
    parse: (value) => (isNonEmptyString(value) ? { completionTag: value } : null),
  },
  agent: {
    expected: 'the name of an agent',
    parse: (value) => (isNonEmptyString(value) ? { agent: { name: value } } : null),
  },
  model: {
    expected: 'the name of a model',
    parse: (value) => (isNonEmptyString(value) ? { agent: { model: value } } : null),
  },
  checks: {
    expected: 'a list of commands',
    parse: (value) =>
      Array.isArray(value) && value.every(isNonEmptyString)
        ? { checks: value.map((command) => ({ command })) }
        : null,
  },
};

function textOf(path: string): string {
  try {
    return readGiven(path, MAX_BYTES, 'too long (maximum 1 MB)').text;
  } catch (error) {
    throw new UserError(`cannot read the configuration file ${path}: ${reasonOf(error)}`);
  }
}

/** Far more than any configuration needs. */
const MAX_BYTES = 2 ** 20;

function parseYaml(path: string, text: string): unknown {
  try {
    return load(text);
  } catch (error) {
    const [reason = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    throw new UserError(`${path} is not valid YAML: ${reason}`);
  }
}

function unknown(path: string, name: string, key: string): UserError {
  const near = closest(key, Object.keys(KEYS));
  const hint = near === null ? `known keys are ${Object.keys(KEYS).join(', ')}` : `did you mean ${near}?`;
  return new UserError(`${path}: unknown key "${name}" (${hint})`);
}

function wrong(path: string, name: string, expected: string, value: unknown): UserError {
  // A few aliases make a list too long to be written.
  const got = Array.isArray(value) ? 'a list' : isRecord(value) ? 'a mapping' : JSON.stringify(value);
  return new UserError(`${path}: ${name} must be ${expected}, got ${got}`);
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

function isNonEmptyString(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}
