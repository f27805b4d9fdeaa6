/**
 * One commit of what a loop has changed, and of nothing else.
 *
 * 1. The commit contains the tree that the checks saw, even if files have changed since.
 * 2. Files that the user staged, changed or added and the loop did not touch stay as they are, staged or not.
 * 3. The user's own git makes the commit, with hooks and signatures.
 * 4. A commit whose owner died before it was noted is recognised, so that it is never made twice.
 */
import { existsSync, rmSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { PRIVATE_FILE, readJsonFile } from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';
import { fields, fits, nullable, string } from '../loop/shape.ts';
import type { Difference } from './differences.ts';
import { bothOf, execGit, gitLine, outputIn, scratchIn, withGitConfig, type Repository } from './git.ts';
import type { MadeCommit } from './made-commit.ts';
import { objectId, headCommit } from './refs.ts';
import { countLoose } from './pack-records.ts';
import { followCommit, indexEntry, indexInfo, stage, unstage, UPDATE_INDEX } from './staging.ts';
import { copyIndex, ISOLATED } from './tree.ts';
import type { Environment } from '../process/process.ts';

/**
 * Prepares a commit and returns the arguments and the environment for `git`. The commit is made from a separate index
 * that holds the last commit and the changes. The changes are also staged in the user's index, so that it fits as soon as
 * the commit exists; `cancelCommit` takes them out again if it is not made.
 */
export async function prepareCommit(
  repository: Repository,
  changes: readonly Difference[],
  { folder, ...plan }: CommitPlan,
): Promise<PreparedCommit> {
  const { message } = plan;
  const head = await noteHead(repository, folder, { tree: readNote(folder)?.tree ?? null, ...plan });
  const index = indexFile(folder);
  await copyIndex(repository, index);
  await bothOf(
    fillIndex(repository, changes, { index, head }),
    stage(repository, changes, stagedFile(folder)),
  );
  // Whatever `commit.cleanup` says, a line that starts with `#` is part of the message.
  const args = ['-c', 'core.fsmonitor=false', 'commit', '--cleanup=whitespace', '--message', message];
  return { args, env: { ...withGitConfig(repository.env, NO_MAINTENANCE), GIT_INDEX_FILE: index } };
}

/** Puts the last commit and the changes into an index. */
async function fillIndex(
  repository: Repository,
  changes: readonly Difference[],
  { index, head }: { readonly index: string; readonly head: string | null },
): Promise<void> {
  const reset = head === null ? ['--empty'] : ['--reset', head];
  const [read, updated] = await gitLine(
    repository,
    (git) => [
      git([...ISOLATED, 'read-tree', ...reset], { GIT_INDEX_FILE: index }),
      git(UPDATE_INDEX, { GIT_INDEX_FILE: index }),
    ],
    { input: indexInfo(changes.map(indexEntry)) },
  );
  outputIn(read, 'read-tree');
  outputIn(updated, 'update-index');
}

/** Maintenance that sees only this index would prune objects that the user has staged in theirs. */
const NO_MAINTENANCE = { 'gc.auto': '0', 'maintenance.auto': 'false' };

export interface CommitPlan {
  /** Where the attempt is noted, for an owner that takes over. */
  readonly folder: string;
  readonly message: string;
  /** What is checked out, if that was asked just now. */
  readonly head?: string | null;
}

export interface PreparedCommit {
  readonly args: readonly string[];
  readonly env: Environment;
}

/** Notes what is checked out, and returns it. A note with a message means that a commit was attempted. */
export async function noteHead(
  repository: Repository,
  folder: string,
  { tree, message = null, head: known }: Partial<Note> & Pick<Note, 'tree'>,
): Promise<string | null> {
  const head = known === undefined ? await headCommit(repository) : known;
  const note: Note = { head, tree, message };
  replaceFile(noteFile(folder), JSON.stringify(note), { mode: PRIVATE_FILE });
  return head;
}

export interface Note {
  /** The commit that was checked out; null before the first commit. */
  readonly head: string | null;
  /** The tree that the checks saw. */
  readonly tree: string | null;
  readonly message: string | null;
}

/** Whether the user's index may still hold changes that were staged for a commit. */
export function hasStaged(folder: string): boolean {
  return existsSync(stagedFile(folder));
}

/** Nothing was committed: takes what was staged for it out of the user's index. */
export async function cancelCommit(repository: Repository, folder: string): Promise<void> {
  rmSync(indexFile(folder), { force: true });
  await unstage(repository, stagedFile(folder));
}

/** The commit was made: updates the user's index and runs the maintenance that git runs after any commit. */
export async function finishCommit(repository: Repository, folder: string, made: MadeCommit): Promise<void> {
  rmSync(indexFile(folder), { force: true });
  await followCommit(repository, stagedFile(folder), made);
  await maintain(repository);
}

/**
 * Git itself would find nothing to do while there are few new objects since it was asked last; the first commit asks it
 * nevertheless.
 */
async function maintain(repository: Repository): Promise<void> {
  const objects = await countLoose(repository);
  const asked = objectsWhenAsked.get(repository.folder);
  if (asked !== undefined && objects < asked + FEW) return;
  await execGit(repository, ['maintenance', 'run', '--auto', '--quiet'], {}, { as: 'user' });
  objectsWhenAsked.set(repository.folder, await countLoose(repository));
}

/** By folder. */
const objectsWhenAsked = new Map<string, number>();
/** Far less than git's own limit of 6,700. */
const FEW = 500;

/** HEAD, if it has moved since it was noted. */
export async function movedHead(repository: Repository, folder: string): Promise<string | null> {
  const note = readNote(folder);
  const head = note === null ? null : await headCommit(repository);
  return head === note?.head ? null : head;
}

/** The commit that an earlier attempt made; null if it made none. */
export async function findAttemptedCommit(repository: Repository, folder: string): Promise<string | null> {
  const note = readNote(folder);
  const message = note?.message ?? null;
  const head = message === null ? null : await movedHead(repository, folder);
  if (message === null || head === null) return null;
  const since = note === null || note.head === null ? head : `${note.head}..${head}`;
  // It need not be HEAD, and a hook may have added to the message.
  const log = await execGit(repository, ['log', '--first-parent', '-z', '--format=%H %B', since]);
  const commits = log.code === 0 ? log.stdout.toString('utf8').split('\0') : [];
  const made = commits.find((entry) => entry.slice(entry.indexOf(' ')).includes(message));
  return made?.split(' ', 1)[0] ?? null;
}

export function wasAttempted(folder: string): boolean {
  return (readNote(folder)?.message ?? null) !== null;
}

export function readNote(folder: string): Note | null {
  const value = readJsonFile(noteFile(folder));
  return isNote(value) ? value : null;
}

function isNote(value: unknown): value is Note {
  return fits(NOTE, value);
}

const NOTE = fields({ head: nullable(objectId), tree: nullable(objectId), message: nullable(string) });

function noteFile(folder: string): string {
  return join(folder, 'head.json');
}

/** The index that the commit is made from. */
function indexFile(folder: string): string {
  return scratchIn(folder, 'commit');
}

/** The entries of the user's index that the staged changes replaced. */
function stagedFile(folder: string): string {
  return join(folder, 'staged');
}

/** Whether a commit may run hooks, which may change files. */
export async function mayHaveHooks(repository: Repository): Promise<boolean> {
  const folder = knownFolders.get(repository.folder) ?? (await findHooks(repository));
  knownFolders.set(repository.folder, folder);
  if (folder === null) return true;
  try {
    return readdirSync(folder).some((name) => !name.endsWith('.sample'));
  } catch {
    // The folder need not exist.
    return false;
  }
}

/** The folder of the repository's hooks; null if there are others. */
async function findHooks(repository: Repository): Promise<string | null> {
  // As the user's: Ralph's own commands run without hooks.
  const [place, settings] = await Promise.all(
    [
      ['rev-parse', '--path-format=absolute', '--git-path', 'hooks'],
      // Git 2.54 and later also have hooks in the configuration.
      ['config', '--get-regexp', String.raw`^(hook\..*|core\.hookspath)$`],
    ].map((args) => execGit(repository, args, {}, { as: 'user' })),
  );
  const isUsual = place?.code === 0 && settings?.code === 1;
  return isUsual ? place.stdout.toString('utf8').replace(/\n$/, '') : null;
}

/** By folder. */
const knownFolders = new Map<string, string | null>();
