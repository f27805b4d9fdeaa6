/**
 * Counts in how many places the fronts do what belongs into one, and how large the folders are. The contract test of
 * docs/hall.md compares the columns "now" there, and `npm run docs` writes them; the columns "before" stay as they are.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { importedFiles } from './import-graph.mjs';

const SOURCE = fileURLToPath(new URL('../src/', import.meta.url));
/** What people and programs call. */
const FRONTS = ['cli', 'mcp', 'library', 'session', 'programs'];

const files = [...importedFiles()].map(([path, imports]) => ({
  path,
  folder: folderOf(path),
  imports,
  text: readFileSync(SOURCE + path, 'utf8'),
}));

function folderOf(path) {
  return path.includes('/') ? path.split('/')[0] : '.';
}

/** Whether a file below `src/` belongs to a front; the entries of the package beside the folders do. */
export function isFront(path) {
  return [...FRONTS, '.'].includes(folderOf(path));
}

/** The page with the counts of now. */
export function withCounts(page) {
  return page
    .replace(table('counts'), (old, start) => start + filled(old, counts()))
    .replace(table('folders'), (old, start) => start + filled(old, sizes()));
}

function table(name) {
  return new RegExp(`(<!-- ${name}: [^]*?-->\n\n)(?:\\|.*\n)+`);
}

/** The rows of now beside the column "before" of the old table. A row whose folder is gone stays. */
function filled(old, now) {
  const before = new Map(
    old
      .split('\n')
      .filter((line) => line.startsWith('| '))
      .slice(2)
      .map((line) => line.split('|').map((cell) => cell.trim()))
      .map(([, label, number]) => [label, number]),
  );
  const labels = [...new Set([...now.keys(), ...before.keys()])].filter((label) => label !== '');
  const rows = labels.map((label) => [label, before.get(label) ?? '–', now.get(label) ?? '–']);
  return aligned([['', 'before', 'now'], ['', '', ''], ...rows]);
}

function aligned(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  return rows
    .map((row, at) => row.map((cell, column) => cell.padEnd(widths[column], at === 1 ? '-' : ' ')))
    .map((row) => `| ${row.join(' | ')} |\n`)
    .join('');
}

function counts() {
  const silent = files.filter(({ folder, text }) => folder === 'cli' && !PRINTS.test(text));
  const printed = files.filter(({ path }) => !isFront(path)).flatMap(({ text }) => text.match(PRINT) ?? []);
  return new Map([
    ['files of `cli/` that print nothing', size(silent)],
    ['prints below the fronts', String(printed.length)],
    [
      'makers of loop requests (`createLoop`)',
      using('owner/create-loop.ts', /(?:await|return) createLoop\(/),
    ],
    ['callers of `takeOver`', using('owner/take-over.ts', /\btakeOver\(/)],
    [
      'files that decide whether settings are trusted',
      having(/\bhasConsent\(|\[TRUST\] ===/, 'settings/trust.ts'),
    ],
    ['files that decide what a caller may do', having(/\bdescendsFrom\(/, 'home/enclosing-runs.ts')],
    ['files of `mcp/` that start a process for a call', using('process/exec.ts', /./, 'mcp/')],
  ]);
}

const PRINT = /process\.(?:stdout|stderr)\.write|writeSync\([12],|\bconsole\.\w+\(/g;
const PRINTS = /'\.\/print\.ts'|process\.(?:stdout|stderr)|writeSync\([12],|\bconsole\.\w+\(/;

/** How many files outside of its folder import a file (or two with the same beginning) and have such a text. */
function using(imported, needed, below = '') {
  const found = files.filter(
    (file) =>
      file.folder !== folderOf(imported) &&
      file.path.startsWith(below) &&
      file.imports.some((path) => path.startsWith(imported)) &&
      needed.test(file.text),
  );
  return String(found.length);
}

/** How many files have such a text, without the one that defines what it calls. */
function having(needed, definition) {
  return String(files.filter(({ path, text }) => path !== definition && needed.test(text)).length);
}

function sizes() {
  const folders = [...new Set(files.map(({ folder }) => folder))].toSorted((a, b) => a.localeCompare(b));
  const rows = folders.map((folder) => [
    `\`${folder}/\``,
    size(files.filter((file) => file.folder === folder)),
  ]);
  return new Map([...rows, ['all', size(files)]]);
}

/** To a hundred lines: the page changes when something moves, not with every edit. */
function size(some) {
  const lines = some.reduce((sum, { text }) => sum + text.split('\n').length - 1, 0);
  return `${some.length} files, ${(lines / 1000).toFixed(1)}k lines`;
}
