import { readFileSync } from 'node:fs';

/** One requirement of one of the five documents, in the words of this project. */
export interface Requirement {
  readonly id: string;
  readonly areas: readonly string[];
  /** The layers that must show it. */
  readonly needs: readonly Layer[];
  readonly status: 'asked' | 'not asked' | 'differs';
  /** For `differs`: what Ralph does instead, and the page that explains it. Otherwise empty. */
  readonly why: string;
  readonly line: string;
}

export type Layer = 'core' | 'product';

export function readRequirements(): readonly Requirement[] {
  return readFileSync(new URL('requirements.txt', import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => parseRequirement(line));
}

/** Parses a line of `requirements.txt`; throws on an invalid one, so that no requirement gets lost. */
export function parseRequirement(text: string): Requirement {
  const match =
    /^(S\d\.\d+) \| ([^|]+) \| (core|product|core, product) \| (?:(asked|not asked)|differs: ([^|]+)) \| (.+)$/.exec(
      text,
    );
  if (match === null) throw new Error(`requirements.txt: not a requirement: ${text}`);
  const [, id = '', areas = '', needs = '', status, why = '', line = ''] = match;
  return {
    id,
    areas: areas.split(', '),
    needs: needs.split(', ').filter((layer) => layer === 'core' || layer === 'product'),
    status: status === 'asked' || status === 'not asked' ? status : 'differs',
    why,
    line,
  };
}

/** A test that ran and passed. */
export interface PassedTest {
  readonly name: string;
  /** From the project's root. */
  readonly file: string;
}

/** The numbers that a test's name begins with. */
export function numbersOf(name: string): readonly string[] {
  return /^(?:S\d\.\d+ )+/.exec(name)?.[0].trim().split(' ') ?? [];
}

/** The page `docs/contract.md`. A requirement is done if every layer that it needs has a test that passed. */
export function contractPage(requirements: readonly Requirement[], passed: readonly PassedTest[]): string {
  const known = new Set(requirements.map(({ id }) => id));
  const unknown = passed.flatMap(({ name }) => numbersOf(name)).filter((id) => !known.has(id));
  if (unknown.length > 0) throw new Error(`tests name requirements that do not exist: ${unknown.join(', ')}`);

  const rows = requirements.map((requirement) => {
    const tests = passed.filter(({ name }) => numbersOf(name).includes(requirement.id));
    return { requirement, tests, status: statusOf(requirement, tests) };
  });
  const count = (status: string): number => rows.filter((row) => row.status === status).length;
  const statuses = [...new Set(rows.map(({ status }) => status))].toSorted();
  return [
    '<!-- Made by `npm run docs` from test/contract/requirements.txt and the tests that passed. Do not edit. -->',
    '',
    '# The contract',
    '',
    'What the five founding documents ask for, and the tests that show it. Each sentence states what the document asks',
    'for, whether Ralph does it or not. The status says how far Ralph is:',
    '',
    '- **done**: a test with the number in its name passed in every layer that the requirement needs: the pure core,',
    '  the running product, or both. If only one of two layers has such a test, the status names both.',
    '- differs: Ralph does something else on purpose. The row says what, and which page explains why; its tests show what',
    '  Ralph does instead.',
    '- open: no test shows it yet.',
    '- not asked: out of scope for now.',
    '',
    '| status | requirements |',
    '| --- | --- |',
    ...statuses.map((status) => `| ${status} | ${count(status)} |`),
    '',
    ...DOCUMENTS.flatMap(([prefix, title]) => [
      `## ${title}`,
      '',
      '| | status | what the document asks for | tests |',
      '| --- | --- | --- | --- |',
      ...rows
        .filter(({ requirement }) => requirement.id.startsWith(`${prefix}.`))
        .map(({ requirement, tests, status }) => {
          const what =
            requirement.status === 'differs'
              ? `${requirement.line} *Ralph:* ${requirement.why}.`
              : requirement.line;
          return `| ${requirement.id} | ${status} | ${cell(what)} | ${[...new Set(tests.map(shown))].toSorted().join('<br>')} |`;
        }),
      '',
    ]),
  ].join('\n');
}

const DOCUMENTS = [
  ['S1', 'Document 000: `conductor`'],
  ['S2', 'Document 001: `ralph-cli`'],
  ['S3', 'Document 002: `architect`'],
  ['S4', 'Document 003: `swarm`'],
  ['S5', 'Document 004: `promise`'],
] as const;

function statusOf({ status, needs }: Requirement, tests: readonly PassedTest[]): string {
  if (status !== 'asked') return status;
  const missing = needs.filter((layer) => !tests.some(({ file }) => layerOf(file) === layer));
  if (missing.length === 0) return '**done**';
  return missing.length === needs.length
    ? 'open'
    : `${needs.find((layer) => !missing.includes(layer))} done, ${missing.join()} open`;
}

function layerOf(file: string): Layer {
  return file.startsWith('src/loop/') || file.startsWith('test/contract/') ? 'core' : 'product';
}

function shown({ name, file }: PassedTest): string {
  return `${cell(name.replace(/^(?:S\d\.\d+ )+/, ''))} (${file.split('/').at(-1)})`;
}

function cell(text: string): string {
  return text.replaceAll('|', String.raw`\|`).replaceAll('<', '&lt;');
}
