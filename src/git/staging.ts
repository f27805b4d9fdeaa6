/**
 * Stages a loop's changes in the user's index for a commit, and takes them out again.
 *
 * 1. An entry is changed again only while it is as Ralph staged it: what the user has staged since is theirs.
 * 2. An entry that is committed by then stays, because taking it out would stage its reversal.
 * 3. The previous entries are noted before anything is staged. The note is removed once the index is in order again.
 */
import { existsSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { PRIVATE_FILE, readJsonFile } from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';
import { fields, fits, list, rule, string } from '../loop/shape.ts';
import { parseDifferences, RAW_OPTIONS, type Difference } from './differences.ts';
import { foldersOf } from './path-kind.ts';
import { execGit, gitFailure, gitOutput, type Repository } from './git.ts';
import type { MadeCommit } from './made-commit.ts';
import { headOrEmpty } from './refs.ts';
import { ISOLATED } from './tree.ts';

/** Stages changes; `note` is a file that survives a crash, and that of an earlier attempt stays: it has the entries from before it. */
export async function stage(
  repository: Repository,
  changes: readonly Difference[],
  note: string,
): Promise<void> {
  if (!existsSync(note)) {
    const staged = await replacedEntries(repository, changes);
    replaceFile(note, JSON.stringify(staged), { mode: PRIVATE_FILE });
  }
  await updateIndex(repository, changes.map(indexEntry));
}

/** One file that Ralph has staged. */
interface Staged {
  readonly path: string;
  /** `<mode> <object>`, all zeros for a removed file. */
  readonly entry: string;
  /** The previous entries under this name or in its way, as lines for `update-index`. */
  readonly before: readonly string[];
}

/** Nothing was committed: restores the previous entries, except those that the user has changed since. */
export async function unstage(repository: Repository, note: string): Promise<void> {
  if (!existsSync(note)) return;
  const uninterrupted = { ...repository, interrupt: NEVER };
  const head = await headOrEmpty(uninterrupted);
  const differing = await differingEntries(uninterrupted, head);
  const unchanged = readNote(note).filter(({ path, entry }) => differing.get(path) === entry);
  await updateIndex(uninterrupted, previousEntries(unchanged));
  rmSync(note, { force: true });
}

/**
 * The commit was made. A hook may have changed, added or left out files: every entry that is as it was before, or as it
 * was staged, becomes what was committed.
 */
export async function followCommit(
  repository: Repository,
  note: string,
  { commit, files }: MadeCommit,
): Promise<void> {
  const uninterrupted = { ...repository, interrupt: NEVER };
  const staged = new Map(readNote(note).map((one) => [one.path, one] as const));
  const committed = entriesOf(files);
  const isAsStaged = ([path, entry]: readonly [string, string]): boolean => staged.get(path)?.entry === entry;
  if (committed.size !== staged.size || ![...committed].every(isAsStaged)) {
    const differing = await differingEntries(uninterrupted, commit);
    const isOutdated = ({ path, modes, object }: Difference): boolean =>
      differing.get(path) === (staged.get(path)?.entry ?? `${modes[0]} ${object}`);
    const leftOut = [...staged.values()].filter(
      ({ path, entry }) => !committed.has(path) && differing.get(path) === entry,
    );
    const entries = [...previousEntries(leftOut), ...files.filter(isOutdated).map(indexEntry)];
    await updateIndex(uninterrupted, entries);
  }
  rmSync(note, { force: true });
}

/** Writes entries to the user's index. */
async function updateIndex(repository: Repository, entries: readonly string[]): Promise<void> {
  if (entries.length === 0) return;
  const input = indexInfo(entries);
  for (let tries = 0; ; tries++) {
    // oxlint-disable-next-line no-await-in-loop -- retries while another git command holds the index lock
    const answer = await execGit(repository, UPDATE_INDEX, {}, { input });
    if (answer.code === 0) return;
    if (tries === MAX_RETRIES || !isLocked(answer.stderr)) throw gitFailure(UPDATE_INDEX, answer);
    // oxlint-disable-next-line no-await-in-loop -- as above
    await sleep(RETRY_DELAY_MS);
  }
}

/** Reads entries from its stdin. */
export const UPDATE_INDEX: readonly string[] = [...ISOLATED, 'update-index', '--index-info'];

/** Entries as `UPDATE_INDEX` reads them. */
export function indexInfo(entries: readonly string[]): string {
  return entries.map(quotedEntry).join('');
}

/** Whether the lock is another one's. On a full disk git names the lock too. */
function isLocked(stderr: string): boolean {
  return stderr.includes('.lock') && !/No space left|quota exceeded|Out of diskspace/.test(stderr);
}

/** As a line of ASCII: git reads the path as a string of C. */
function quotedEntry(entry: string): string {
  const at = entry.indexOf('\t') + 1;
  const path = entry.slice(at, -1).replaceAll(/[^\w./-]/g, (one) => `\\${octal(one)}`);
  return `${entry.slice(0, at)}"${path}"\n`;
}

function octal(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(8).padStart(3, '0');
}

/** Two seconds in total, longer than a `git add` of the user takes. */
const MAX_RETRIES = 20;
const RETRY_DELAY_MS = 100;
const NEVER = new AbortController().signal;

/** A change as `update-index` reads it; zeros for mode and object remove the file. */
export function indexEntry({ path, modes, becomes }: Difference): string {
  return `${modes[1]} ${becomes}\t${path}\0`;
}

async function replacedEntries(
  repository: Repository,
  changes: readonly Difference[],
): Promise<readonly Staged[]> {
  const args = ['ls-files', '--cached', '--stage', '--full-name', '-z', ':(top)'];
  const listed = await gitOutput(repository, args);
  const replaced = new Map(changes.map(({ path }): [string, string[]] => [path, []]));
  const byFolder = filesByFolder(changes.map(({ path }) => path));
  for (const line of listed.split('\0').slice(0, -1)) {
    const path = line.slice(line.indexOf('\t') + 1);
    // An entry is replaced by a change of its name, of one of its folders, or of a file below its name.
    const change =
      [path, ...foldersOf([path])].find((one) => replaced.has(one)) ?? byFolder.get(path) ?? null;
    // A line is `<mode> <object> <stage>`; the stage matters only in conflicts.
    if (change !== null) replaced.get(change)?.push(`${line.replace(/ \d\t/, '\t')}\0`);
  }
  return changes.map(({ path, modes, becomes }) => ({
    path,
    entry: `${modes[1]} ${becomes}`,
    before: replaced.get(path) ?? [],
  }));
}

/** Maps every folder to one of the files in it. */
function filesByFolder(paths: readonly string[]): ReadonlyMap<string, string> {
  return new Map(paths.flatMap((path) => [...foldersOf([path])].map((folder) => [folder, path] as const)));
}

/** Removes the staged entries first, so that they are not in the way of the previous ones. */
function previousEntries(staged: readonly Staged[]): readonly string[] {
  const removals = staged.map(
    ({ path, entry }) => `0 ${entry.split(' ')[1]?.replaceAll(/./g, '0')}\t${path}\0`,
  );
  return [...removals, ...staged.flatMap(({ before }) => before)];
}

/** The entries of the user's index that differ from a tree. */
async function differingEntries(repository: Repository, tree: string): Promise<ReadonlyMap<string, string>> {
  const args = ['diff-index', '--cached', ...RAW_OPTIONS, '--ignore-submodules=none', tree];
  return entriesOf(parseDifferences(await gitOutput(repository, args)));
}

/** By path: what the differences make of entries. */
function entriesOf(found: readonly Difference[]): ReadonlyMap<string, string> {
  return new Map(found.map(({ path, modes, becomes }) => [path, `${modes[1]} ${becomes}`] as const));
}

function readNote(note: string): readonly Staged[] {
  const value = readJsonFile(note, MAX_NOTE_BYTES);
  // A crash while the note was written: nothing is staged yet.
  return isNote(value) ? value : [];
}

function isNote(value: unknown): value is readonly Staged[] {
  return fits(NOTE, value);
}

const NOTE = list(
  fields({
    path: rule('a path', (value) => typeof value === 'string' && !value.includes('\0')),
    entry: rule(
      '<mode> <object>',
      (value) => typeof value === 'string' && /^\d{1,6} [0-9a-f]{40,64}$/.test(value),
    ),
    before: list(string),
  }),
);
/** One entry for every changed file. */
const MAX_NOTE_BYTES = 256 * 2 ** 20;
