/** What follows from a row of the table of settings, for every row. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { presets } from '../../src/loop/presets.ts';
import { commandOptions } from '../../src/cli/program.ts';
import { flagSettings } from '../../src/cli/options.ts';
import { OUTSIDE_POLICY, settingsOf } from '../../src/settings/policy.ts';
import { findSchemaProblems } from '../../src/settings/schema.ts';
import { FLAGS, leaves, nested } from '../../src/settings/settings.ts';
import { type Kinds, type Row, VALUES } from '../../src/settings/rows.ts';

const page = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8');
const rows = [...VALUES].filter(([path]) => !path.includes('[]'));

/** A file names its schema; commands for notices are shown where there are some. */
const UNLISTED = ['$schema', 'on'];

/** A value for each type: as a file has it, and as the command line has it. */
const EXAMPLES: { readonly [Kind in keyof Kinds]: readonly [Kinds[Kind], unknown] } = {
  text: ['x', 'x'],
  'any-text': ['x', 'x'],
  variable: ['X', 'X'],
  'yes-no': [true, true],
  'file-or-false': ['x', 'x'],
  whole: [0, '0'],
  count: [1, '1'],
  iterations: [1, '1'],
  amount: [0.5, '$0.50'],
  time: ['2h', ' 2h '],
  timeout: ['2h', '2h'],
  size: [1024, '1k'],
  preset: ['swarm', 'swarm'],
  until: ['claim', 'claim'],
  'protected-change': ['warn', 'warn'],
  'fail-action': ['APPEND', 'APPEND'],
  'prompt-way': ['file', 'file'],
  'notice-kind': ['loop.done', 'loop.done'],
  'notice-commands': [{ 'loop.done': 'true' }, undefined],
  'mcp-change': ['stop', 'stop'],
};

/** The compiler infers types from the rows, so it does not refuse a misspelled part. */
const PARTS: Readonly<Record<keyof Row, true>> = {
  type: true,
  list: true,
  parts: true,
  short: true,
  required: true,
  alias: true,
  flag: true,
  secondFlag: true,
  off: true,
  only: true,
  says: true,
  more: true,
  default: true,
  byDefault: true,
  zero: true,
  blankIsDefault: true,
  everyday: true,
};

function exampleOf({ type, list, short }: Row): readonly [unknown, unknown] {
  const [inFile, given] = type === undefined ? ['x', 'x'] : EXAMPLES[type];
  const item = short === undefined ? inFile : { [short]: inFile };
  return list === undefined ? [inFile, given] : [[item], [given]];
}

describe.each(rows)('the setting %s', (path, row) => {
  const [inFile] = exampleOf(row);

  it('has only what a row can have', () => {
    expect(Object.keys(row).filter((part) => !(part in PARTS))).toEqual([]);
  });

  it('is accepted in a file, and not with another type', () => {
    expect(findSchemaProblems(nested(path, inFile))).toEqual([]);
    expect(findSchemaProblems(nested(path, Symbol('no value')))).toHaveLength(1);
  });

  it('is shown by ralph config and in docs/configuration.md', () => {
    const known = [...Object.keys({ ...OUTSIDE_POLICY, ...settingsOf(presets.default.policy) }), ...UNLISTED];
    expect(known).toContain(path);
    expect(page).toContain(`| \`${path}\` |`);
  });
});

it.each(rows.filter(([path]) => path in FLAGS))('the setting %s is what its option sets', (path, row) => {
  const [inFile, given] = exampleOf(row);
  const { [path]: flag = '' } = FLAGS;
  expect(commandOptions().get('run')).toContain(flag);
  const key = flag.slice(2).replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
  expect([...leaves(flagSettings({ [key]: given }))]).toEqual([...leaves(nested(path, inFile))]);
});
