import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { commandOptions } from '../../src/cli/program.ts';

const root = new URL('../../', import.meta.url);
const docs = readdirSync(new URL('docs/', root)).filter((file) => file.endsWith('.md'));
// docs/contract.md quotes the documents, and decisions may speak of commands that are gone.
const pages = [
  'README.md',
  'SECURITY.md',
  ...docs.filter((file) => file !== 'contract.md').map((file) => `docs/${file}`),
];
const known = commandOptions();

/** The command lines of a page: in blocks of code, and in code within a sentence. */
function lines(page: string): readonly string[] {
  const text = readFileSync(new URL(page, root), 'utf8');
  const blocks = [...text.matchAll(/^```sh\n([^]*?)^```/gm)].flatMap(([, block = '']) => block.split('\n'));
  const inline = [...text.replaceAll(/^```[^]*?^```/gm, '').matchAll(/`([^`]+)`/g)].map(([, code = '']) =>
    code.replaceAll(/\s+/g, ' '),
  );
  return [...blocks, ...inline].filter((line) => /^ralph [a-z]/.test(line));
}

/** What is wrong with a command line; null if the command and its options exist. */
function problem(line: string): string | null {
  // The agent's command, a comment, and another command follow the end; brackets and bars are for people.
  const [own = ''] = line.split(/ -- | # |[;&>]/);
  const words = own
    .replaceAll(/"[^"]*"/g, 'TEXT')
    .replaceAll(/[[\]]/g, ' ')
    .split(/[\s|\\,]+/)
    .slice(1);
  const [first = '', second = ''] = words;
  if (first === 'help') return isHelpOn(second) ? null : `${line}: no such command or topic`;
  const name = [`${first} ${second}`, first].find((one) => known.has(one));
  if (
    name === undefined &&
    [...known.keys()].some((one) => one.startsWith(`${first} `)) &&
    !/^[a-z]/.test(second)
  )
    return null;
  if (name === undefined) return `${line}: no such command`;
  const unknown = words.filter(
    (word) => /^--?[a-z]/.test(word) && known.get(name)?.includes(word.split('=')[0] ?? '') !== true,
  );
  return unknown.length === 0 ? null : `${line}: no option ${unknown.join(', ')}`;
}

/** A command, a page of docs/, the list of topics, or a word in capitals for any of them. */
function isHelpOn(word: string): boolean {
  const isCommand = [...known.keys()].some((name) => name.split(' ')[0] === word);
  return isCommand || docs.includes(`${word.replace(/\.md$/, '')}.md`) || /^(?:topics|[A-Z]+)$/.test(word);
}

it.each(pages)('%s shows only commands and options that exist', (page) => {
  expect(lines(page).flatMap((line) => problem(line) ?? [])).toEqual([]);
});

it('a command or an option that does not exist is noticed', () => {
  expect(lines('docs/commands.md').length).toBeGreaterThan(30);
  for (const line of [
    'ralph rnu "x"',
    'ralph run x --cheek "y"',
    'ralph worktree murge NAME',
    'ralph help rnu --all',
    'ralph ls [--al]',
    'ralph help sandbx',
  ])
    expect(problem(line)).not.toBeNull();
  for (const line of [
    'ralph run x --check "a --b" -- c --d',
    'ralph worktree',
    'ralph ls [-a|--all] # --x',
    'ralph help limits',
  ])
    expect(problem(line)).toBeNull();
});
