/**
 * The files of a workspace, as a record has them.
 *
 * 1. Nothing is lost: whatever is changed or removed is on record before, also what git ignores by now; and what git would
 *    not give back as it is lies beside the record, as an exact copy.
 * 2. HEAD, the branch and the index stay as they are, and so do ignored files that the record does not have, `.ralph`, what
 *    is checked out in submodules, and everything outside of the workspace. A sparse checkout hides nothing.
 * 3. Either git sees in advance that something is in the way and changes nothing, or the caller hears what is not as it
 *    should be.
 */
import { lstatSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { A_REPOSITORY, differences } from './differences.ts';
import { foldersOf } from './folders.ts';
import { bringBack, differingFrom, keepExact } from './exact.ts';
import { ask, failed, GitError, prefixOf, resolve, tell, topOf, utf8, type Repository } from './git.ts';
import { addTo, CAREFULLY, forgetIn, treeIn, withTree, writeTree } from './tree.ts';

export interface Restored {
  /** `3 files changed, 4 insertions(+)`; null where everything was so already. */
  readonly change: string | null;
  /** The files that were changed, by name. */
  readonly files: readonly RestoredFile[];
  /** Repositories in the repository: what is checked out in them is their own affair. */
  readonly repositories: readonly string[];
  /** How many files git would not give back as they were, so that there are copies of them beside the record. */
  readonly copied: number;
  /** How many files come from such copies. */
  readonly exact: number;
}

export interface RestoredFile {
  readonly path: string;
  /** What became of it. */
  readonly how: 'changed' | 'removed' | 'back';
}

/** It was begun and not finished, or could not even be begun. */
export class RestoreError extends GitError {
  readonly isUntouched: boolean;

  constructor(message: string, isUntouched: boolean) {
    super(message);
    this.isUntouched = isUntouched;
  }
}

/** Restores the files of a record. `keep` puts the tree that is there on record, before anything is done to it. */
export function restoreFiles(repository: Repository, order: RestoreOrder): Promise<Restored> {
  const { to, scratch, keep, copies } = order;
  return withTree(repository, scratch, async (before) => {
    const wanted = await resolve(repository, `${to}^{tree}`);
    if (wanted === null) throw new GitError(`${to} is gone`);
    const now = await withIgnored(repository, scratch, before, wanted);
    const target = await belowWorkspace(repository, now, wanted, `${scratch}-target`);
    const steps = await stepsBetween(repository, now, target);
    const repositories = steps.filter(({ isRepository }) => isRepository).map(({ path }) => utf8(path));
    const inexact = await differingFrom(repository, copies.from);
    const top = await topOf(repository);
    // In a sparse checkout something may be gone already, though the index has it.
    const isDone = ({ isRepository, isGone, path }: Step): boolean =>
      isRepository || (isGone && kindOf(`${top}/${path}`) !== 'file');
    const open = steps.filter((step) => !isDone(step));
    if (open.length === 0 && inexact.length === 0)
      return { change: null, files: [], repositories, copied: 0, exact: 0 };
    await refuseInTheWay(repository, steps);
    await keep(now);
    const copied = await failingAs(true, () => keepCopies(repository, order, steps, inexact));
    const turn = async (from: string, into: string): Promise<void> => {
      // What is wanted is wanted on disk.
      const words = ['read-tree', '-m', '-u', '--no-sparse-checkout', from, into];
      const answer = await ask(repository, [...CAREFULLY, ...words], { GIT_INDEX_FILE: scratch });
      if (answer.code === 0) return;
      const isUntouched = (await writeTree(repository, `${scratch}-after`)) === before;
      throw new RestoreError(failed(words, answer).message, isUntouched);
    };
    const late = removedLate(steps);
    const half = await treeWith(repository, target, late, `${scratch}-target`);
    await turn(now, half);
    const ignored = await ignoredAmong(repository, late);
    const end = await treeWith(repository, target, ignored, `${scratch}-target`);
    if (end !== half) await turn(half, end);
    const others = steps.filter((step) => !ignored.includes(step));
    const left = await notRestored(repository, scratch, others);
    if (left.length > 0) throw new RestoreError(`not as they should be: ${left.join(', ')}`, false);
    const exact = await differingFrom(repository, copies.from);
    await failingAs(false, () => bringBack(repository, copies.from, exact));
    const change =
      (await changeBetween(repository, now, end)) ??
      `${exact.length} file${exact.length === 1 ? '' : 's'} changed`;
    const files = filesOf(
      open.filter((step) => !ignored.includes(step)),
      exact,
    );
    return { change, files, repositories, copied, exact: exact.length };
  });
}

function filesOf(steps: readonly Step[], exact: readonly string[]): readonly RestoredFile[] {
  const named = new Set(steps.map(({ path }) => path));
  return [
    ...steps.map(({ path, isNew, isGone }) => ({
      path: utf8(path),
      how: isNew ? ('back' as const) : isGone ? ('removed' as const) : ('changed' as const),
    })),
    // Of these git sees no difference.
    ...exact
      .filter((path) => !named.has(path))
      .map((path) => ({ path: utf8(path), how: 'changed' as const })),
  ];
}

/** No setting has a say in it; a repository in the repository is left as it is. */
async function changeBetween(repository: Repository, from: string, to: string): Promise<string | null> {
  const words = [
    'diff-tree',
    '-r',
    '-M',
    '--no-ext-diff',
    '--ignore-submodules=all',
    '--shortstat',
    from,
    to,
  ];
  const change = (await tell(repository, words, { LC_ALL: 'C' })).trim();
  return change === '' ? null : change;
}

export interface RestoreOrder {
  /** The record. */
  readonly to: string;
  /** A file that nobody else uses. */
  readonly scratch: string;
  readonly keep: (tree: string) => Promise<unknown>;
  /** Folders for exact copies: of what is there now, and those that belong to the record, if there are any. */
  readonly copies: { readonly into: string; readonly from: string };
}

function keepCopies(
  repository: Repository,
  { scratch, copies }: RestoreOrder,
  steps: readonly Step[],
  inexact: readonly string[],
): Promise<number> {
  const known = new Set(steps.map(({ path }) => path));
  const changed = steps
    .filter(({ isNew, isRepository }) => !isNew && !isRepository)
    .map(({ path, was }) => ({ path, mode: was.slice(0, 6) }));
  const others = inexact.filter((path) => !known.has(path)).map((path) => ({ path, mode: '' }));
  // Of somebody who was killed before anything was on record.
  rmSync(copies.into, { recursive: true, force: true });
  return keepExact(repository, [...changed, ...others], {
    index: scratch,
    folder: copies.into,
    scratch: `${scratch}-files`,
  });
}

async function failingAs<T>(isUntouched: boolean, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new RestoreError(`a file cannot be copied: ${reason}`, isUntouched);
  }
}

/**
 * The tree that is there, with those files of the record that are there and that git ignores by now: they are about to be
 * changed, too.
 */
async function withIgnored(
  repository: Repository,
  scratch: string,
  now: string,
  wanted: string,
): Promise<string> {
  const steps = await stepsBetween(repository, now, wanted);
  const missing = steps.filter(({ isNew, isRepository }) => isNew && !isRepository);
  const top = await topOf(repository);
  const found = missing.map(({ path }) => firstOnTheWay(top, path));
  const hidden = new Set(found.filter((path) => kindOf(`${top}/${path}`) === 'file'));
  if (hidden.size === 0) return now;
  const list = `${scratch}-paths`;
  try {
    writeFileSync(list, [...hidden].map((path) => `:(top,literal)${path}\0`).join(''), 'latin1');
    await addTo(repository, scratch, ['--force', `--pathspec-from-file=${list}`, '--pathspec-file-nul']);
  } finally {
    rmSync(list, { force: true });
  }
  return treeIn(repository, scratch);
}

/**
 * What goes only once it is known whether the record's own `.gitignore` has it: then it stays, since nobody knows whether
 * it was there. What is in the way of something else cannot wait.
 */
function removedLate(steps: readonly Step[]): readonly Step[] {
  const isRule = ({ path }: Step): boolean => path.split('/').at(-1) === '.gitignore';
  if (!steps.some(isRule)) return [];
  const files = new Set(steps.filter(({ isNew }) => isNew).map(({ path }) => path));
  const folders = foldersOf([...files]);
  return steps.filter(
    (step) =>
      step.isGone &&
      !step.isRepository &&
      !isRule(step) &&
      !folders.has(step.path) &&
      ![...foldersOf([step.path])].some((folder) => files.has(folder)),
  );
}

/** Those that git ignores now. */
async function ignoredAmong(repository: Repository, steps: readonly Step[]): Promise<readonly Step[]> {
  if (steps.length === 0) return [];
  const prefix = await prefixOf(repository);
  const names = steps.map(({ path }) => path.slice(prefix.length));
  const input = Buffer.from(names.map((name) => `${name}\0`).join(''), 'latin1');
  // The index may have a folder where a file is by now, which is not for it to say.
  const answer = await ask(repository, ['check-ignore', '--no-index', '-z', '--stdin'], {}, { input });
  if (answer.code !== 0 && answer.code !== 1) throw failed(['check-ignore'], answer);
  const ignored = new Set(answer.stdout.toString('latin1').split('\0'));
  const tracked = new Set((await tell(repository, ['ls-files', '--cached', '-z', '--', '.'])).split('\0'));
  return steps.filter((_, index) => {
    const name = names[index] ?? '';
    return ignored.has(name) && !tracked.has(name);
  });
}

/** A tree with these files as they were before. */
async function treeWith(
  repository: Repository,
  tree: string,
  steps: readonly Step[],
  scratch: string,
): Promise<string> {
  if (steps.length === 0) return tree;
  const inScratch = { GIT_INDEX_FILE: scratch };
  const input = Buffer.from(steps.map(({ was, path }) => `${was}\t${path}\0`).join(''), 'latin1');
  try {
    await tell(repository, [...CAREFULLY, 'read-tree', tree], inScratch);
    const add = [...CAREFULLY, 'update-index', '-z', '--index-info'];
    const answer = await ask(repository, add, inScratch, { input });
    if (answer.code !== 0) throw failed(['update-index'], answer);
    return await treeIn(repository, scratch);
  } finally {
    rmSync(scratch, { force: true });
    rmSync(`${scratch}.lock`, { force: true });
  }
}

/** The first part of a path that is no folder, be it the whole of it. */
function firstOnTheWay(top: string, path: string): string {
  for (let end = path.indexOf('/'); end > 0; end = path.indexOf('/', end + 1)) {
    const kind = kindOf(`${top}/${path.slice(0, end)}`);
    if (kind !== 'folder') return kind === 'file' ? path.slice(0, end) : path;
  }
  return path;
}

/** A folder in the place of a file goes only with what is on record; to git, what it ignores is not worth keeping. */
async function refuseInTheWay(repository: Repository, steps: readonly Step[]): Promise<void> {
  const top = await topOf(repository);
  const gone = new Set(steps.filter(({ isGone }) => isGone).map(({ path }) => path));
  for (const { path, isNew, isRepository } of steps) {
    if (!isNew || isRepository || firstOnTheWay(top, path) !== path) continue;
    const first = strangerIn(top, path, gone);
    if (first !== null)
      throw new RestoreError(
        `${utf8(path)} is a folder now, with files that git ignores (${utf8(first)}); move it out of the way`,
        true,
      );
  }
}

/** A file in a folder that is not among these. */
function strangerIn(top: string, folder: string, known: ReadonlySet<string>): string | null {
  const folders = kindOf(`${top}/${folder}`) === 'folder' ? [folder] : [];
  for (let inner = folders.pop(); inner !== undefined; inner = folders.pop()) {
    for (const name of readdirSync(Buffer.from(`${top}/${inner}`, 'latin1'), 'latin1')) {
      const path = `${inner}/${name}`;
      if (kindOf(`${top}/${path}`) === 'folder') folders.push(path);
      else if (!known.has(path)) return path;
    }
  }
  return null;
}

/** The tree that is there, with what is below the workspace as it is wanted. */
async function belowWorkspace(
  repository: Repository,
  now: string,
  wanted: string,
  scratch: string,
): Promise<string> {
  const prefix = utf8(await prefixOf(repository));
  if (prefix === '') return wanted;
  const inScratch = { GIT_INDEX_FILE: scratch };
  try {
    await tell(repository, [...CAREFULLY, 'read-tree', now], inScratch);
    await forgetIn(repository, scratch, ['.']);
    const part = await resolve(repository, `${wanted}:${prefix.replace(/\/$/, '')}`);
    if (part !== null)
      await tell(repository, [...CAREFULLY, 'read-tree', `--prefix=${prefix}`, part], inScratch);
    return await treeIn(repository, scratch);
  } finally {
    rmSync(scratch, { force: true });
    rmSync(`${scratch}.lock`, { force: true });
  }
}

interface Step {
  /** From the top of the repository, in Latin 1: one character a byte. */
  readonly path: string;
  readonly isNew: boolean;
  readonly isGone: boolean;
  readonly isRepository: boolean;
  /** Its mode and object before. */
  readonly was: string;
}

async function stepsBetween(repository: Repository, from: string, to: string): Promise<readonly Step[]> {
  return (await differences(repository, from, to)).map(({ path, kind, modes, object }) => ({
    path,
    isNew: kind === 'new',
    isGone: kind === 'gone',
    isRepository: modes.includes(A_REPOSITORY),
    was: `${modes[0]} ${object}`,
  }));
}

/** The files that are not as they should be now, some of them by name. */
async function notRestored(
  repository: Repository,
  index: string,
  steps: readonly Step[],
): Promise<readonly string[]> {
  const top = await topOf(repository);
  const still = steps
    .filter(({ isGone, isRepository }) => isGone && !isRepository)
    .map(({ path }) => path)
    .filter((path) => firstOnTheWay(top, path) === path && kindOf(`${top}/${path}`) === 'file');
  const missing = steps
    .filter(({ isGone, isRepository }) => !isGone && !isRepository)
    .map(({ path }) => path)
    .filter((path) => firstOnTheWay(top, path) !== path || kindOf(`${top}/${path}`) !== 'file');
  const look = ['diff-files', '--name-only', '--ignore-submodules=all', '-z', '--', '.'];
  const names = (await tell(repository, look, { GIT_INDEX_FILE: index })).split('\0').slice(0, -1);
  const touched = new Set(steps.map(({ path }) => path));
  const found = [...still, ...missing, ...names.filter((path) => touched.has(path))];
  const left = [...new Set(found)].map(utf8);
  return left.length > MOST_NAMES
    ? [...left.slice(0, MOST_NAMES), `and ${left.length - MOST_NAMES} more`]
    : left;
}

const MOST_NAMES = 5;

function kindOf(path: string): 'file' | 'folder' | 'nothing' {
  try {
    return lstatSync(Buffer.from(path, 'latin1')).isDirectory() ? 'folder' : 'file';
  } catch {
    return 'nothing';
  }
}
