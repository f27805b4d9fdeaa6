/**
 * Writes the whole working tree as a git tree object, and records it under a name in `refs/ralph/`.
 *
 * 1. The user's index, branch and files are not touched: everything happens in a copy of the index.
 * 2. The tree contains what git tracks or would track below the workspace; outside of the workspace it is as the index has
 *    it. Ignored files and `.ralph` folders are not in it.
 * 3. It works before the first commit, with any file name, and outside of a sparse checkout.
 * 4. Files that cannot be read, and untracked files that are too large, are reported; failing to write is an error. Nothing
 *    is left out silently.
 */
import { rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { PRIVATE_FOLDER } from '../files/files.ts';
import { makeFolders } from '../files/make-folders.ts';
import { counted, sizeText } from '../loop/counted.ts';
import { bothOf, execGit, gitFailure, GitError, gitOutput, gitPath, type Repository } from './git.ts';
import { copyIndexFile } from './copy-index.ts';
import { entriesIn, indexFile } from './index-file.ts';
import { treesOf, writeTrees } from './index-trees.ts';
import { isKept, isUntouched, keepIndex, takeKeptIndex, type KeptIndex } from './kept-index.ts';
import { isLoose, objectsFolder } from './loose-object.ts';
import { withoutNestedFilters } from './nested-filters.ts';
import { commonFolder, headCommit, readCommit, recordedCommit } from './read-ref.ts';
import { fromTop, isThere, leftOut, listUntracked, sizeOfAll, type Untracked } from './untracked.ts';
import { writeCommit, writeRef } from './write-record.ts';

/** Writes the tree as it is now and returns its id; `scratch` is a file that no other process uses. */
export function writeTree(repository: Repository, scratch: string): Promise<string> {
  return withTree(repository, scratch, async (tree) => tree);
}

/**
 * Like `writeTree`, but keeps the tree's index in `scratch` for `use`, and passes what the tree lacks. With `keepsIndex` the
 * index also stays for the next look, so that git reads only the files that have changed since.
 */
export async function withTree<T>(
  repository: Repository,
  scratch: string,
  use: (tree: string, lacks: Lacking) => Promise<T>,
  { keepsIndex = false, isSameExpected = false }: TreeOptions = {},
): Promise<T> {
  try {
    const index = await indexFile(repository);
    const kept = takeKeptIndex(scratch, index);
    if (kept !== null && isSameExpected && (await isStillSame(repository, scratch, kept))) {
      keepIndex(scratch, kept);
      const isWhole = index?.mayHaveNested !== true && !kept.untracked.some(isNested);
      return await use(kept.tree, { unread: [], large: [], isWhole });
    }
    const { untracked, added } = await (kept === null
      ? addToCopy(repository, scratch)
      : addToKept(repository, scratch, kept));
    const { recorded, large } = untracked;
    if (index?.mayHaveRalph === true || recorded.some(isRalphs))
      await removeFromIndex(repository, scratch, RALPH_FOLDERS);
    const { tree, folders } = await treeAfter(repository, scratch, kept);
    // A tracked file that is missing is out of the index, and is not found again there if git also ignores it.
    const own = recorded.filter((path) => !isRalphs(path));
    if (keepsIndex && added.isComplete && entriesIn(scratch) === (index?.entries ?? NaN) + own.length)
      keepIndex(scratch, { of: index?.stamp ?? '', untracked: own, tree, folders });
    const hasNested = index?.mayHaveNested === true || recorded.some(isNested);
    const isWhole = added.isComplete && !hasNested;
    return await use(tree, { unread: added.unread, large: await fromTop(repository, large), isWhole });
  } finally {
    if (!isKept(scratch)) rmSync(scratch, { force: true });
    rmSync(`${scratch}.lock`, { force: true });
  }
}

interface TreeOptions {
  /** Whether the index stays for the next look. */
  readonly keepsIndex?: boolean;
  /** Whether the files have probably not changed since the last look: finding that out first is faster then. */
  readonly isSameExpected?: boolean;
}

interface Filled {
  readonly untracked: Untracked;
  readonly added: Added;
}

/** Adds everything to a new copy of the user's index. */
async function addToCopy(repository: Repository, scratch: string): Promise<Filled> {
  await copyIndex(repository, scratch);
  const [untracked, added] = await bothOf(listUntracked(repository), addTracked(repository, scratch));
  if (untracked.isComplete && untracked.recorded.length === 0) return { untracked, added };
  return { untracked, added: await addAll(repository, scratch, untracked) };
}

/** Adds the changes of files that are in the index. */
function addTracked(repository: Repository, scratch: string): Promise<Added> {
  return addToIndex(repository, scratch, ['--update', '--ignore-errors', '--', '.']);
}

/**
 * Brings a kept index up to date. Git looks for changes and for new files at the same time, which takes half as long as one
 * command that does both. New files are rare, and only they need that command too.
 */
async function addToKept(repository: Repository, scratch: string, kept: KeptIndex): Promise<Filled> {
  rmSync(`${scratch}.lock`, { force: true });
  // A file that has become too large must not be read.
  const mayHurry = leftOut(repository, kept.untracked).size === 0;
  const hurry = mayHurry ? addTracked(repository, scratch) : Promise.resolve(null);
  const [untracked, updated] = await bothOf(listUntracked(repository), hurry);
  const now = new Set(untracked.recorded);
  // Ignored or too large by now: the user's index does not have them.
  const gone = kept.untracked.filter((path) => !now.has(path) && isThere(repository, path));
  await forceRemove(repository, scratch, gone);
  const before = new Set(kept.untracked);
  const isUpToDate = untracked.isComplete && untracked.recorded.every((path) => before.has(path));
  if (updated !== null && isUpToDate) return { untracked, added: updated };
  return { untracked, added: await addAll(repository, scratch, untracked, before) };
}

/** Writes the tree of a scratch index: without git if most of it was written from the index that was kept before. */
async function treeAfter(
  repository: Repository,
  scratch: string,
  kept: KeptIndex | null,
): Promise<Pick<KeptIndex, 'tree' | 'folders'>> {
  // Its trees may be gone with a loop's records; if one of them is there, all are.
  const last = kept !== null && isLoose(await objectsFolder(repository), kept.tree) ? kept : null;
  if (last !== null && isUntouched(scratch, last)) return last;
  const trees = treesOf(scratch);
  const folders = trees === null ? null : new Set(trees.objects.keys());
  if (last !== null && trees !== null) {
    const isWritten =
      trees.id === last.tree ||
      (last.folders !== null && (await writeTrees(repository, trees, last.folders)));
    if (isWritten) return { tree: trees.id, folders };
  }
  const tree = await treeOfIndex(repository, scratch);
  return { tree, folders: trees?.id === tree ? folders : null };
}

/** Whether the files are as a kept index has them. */
async function isStillSame(repository: Repository, scratch: string, kept: KeptIndex): Promise<boolean> {
  if (!isLoose(await objectsFolder(repository), kept.tree)) return false;
  const args = ['ls-files', '--modified', '--deleted', '--others', '--exclude-standard', '-z', '--', '.'];
  // Git runs the filters of a file that has changed within the last moments.
  const guarded = await withoutNestedFilters(repository);
  const { code, stdout, stderr } = await execGit(guarded, args, { GIT_INDEX_FILE: scratch });
  const found = stdout.toString('latin1').split('\0').slice(0, -1);
  return code === 0 && stderr === '' && found.every(isRalphs);
}

/** What a tree lacks. All paths are from the top of the repository. */
export interface Lacking {
  /** Files and folders that cannot be read. */
  readonly unread: readonly string[];
  /** Files that are too large, in Latin-1. */
  readonly large: readonly string[];
  /** Whether these are all: git could add everything else, and there is no repository of which only the commit is recorded. */
  readonly isWhole: boolean;
}

/** Git shows an untracked repository as a folder. */
function isNested(path: string): boolean {
  return path.endsWith('/');
}

/** Whether a path is in a `.ralph` folder. */
export function isRalphs(path: string): boolean {
  return path.split('/').includes('.ralph');
}

/**
 * Adds everything in the workspace but the files that are left out; says so if it takes long. Excludes only paths in the
 * workspace: in a subfolder, git 2.39 reads beyond the end of an excluded pattern that is shorter than the subfolder's path.
 */
async function addAll(
  repository: Repository,
  scratch: string,
  { recorded, large: except }: Untracked,
  before: ReadonlySet<string> = new Set(),
): Promise<Added> {
  const slow = setTimeout(() => {
    const added = recorded.filter((path) => !before.has(path));
    const what = `${counted(added.length, 'untracked file')} (${sizeText(sizeOfAll(repository, added))})`;
    repository.say?.(`recording ${what}; add those that need no checkpoint to .gitignore`);
  }, SLOW_MS);
  try {
    return await addAllBut(repository, scratch, except);
  } finally {
    clearTimeout(slow);
  }
}

const SLOW_MS = 1000;

async function addAllBut(repository: Repository, scratch: string, except: readonly string[]): Promise<Added> {
  const all = ['--all', '--ignore-errors'];
  if (except.length === 0) return addToIndex(repository, scratch, [...all, '--', '.']);
  const list = `${scratch}-paths`;
  try {
    const lines = ['.', ...except.map((path) => `:(exclude,literal)${path}`)];
    writeFileSync(list, lines.map((line) => `${line}\0`).join(''), 'latin1');
    const from = [`--pathspec-from-file=${list}`, '--pathspec-file-nul'];
    return await addToIndex(repository, scratch, [...all, ...from]);
  } finally {
    rmSync(list, { force: true });
  }
}

interface Added {
  /** The paths that cannot be read. */
  readonly unread: readonly string[];
  /** Whether everything was added. */
  readonly isComplete: boolean;
}

/** Adds files to a scratch index. */
export async function addToIndex(
  repository: Repository,
  index: string,
  what: readonly string[],
): Promise<Added> {
  const env = { GIT_INDEX_FILE: index, ...ENGLISH_MESSAGES };
  const guarded = await withoutNestedFilters(repository);
  const add = (options: readonly string[]) =>
    execGit(guarded, [...ISOLATED, 'add', ...options, ...what], env);
  const added = await add(['--sparse']);
  // git before 2.34 does not know --sparse.
  const { code, stderr } = added.code === USAGE_ERROR ? await add([]) : added;
  const lines = stderr.split('\n');
  const isHarmless = code === 1 && lines.every((line) => !line.startsWith('error:') || HARMLESS.test(line));
  if (code !== 0 && !isHarmless) throw gitFailure(['add'], { ...added, code, stderr });
  const unread = lines.flatMap((line) => UNREADABLE.exec(line)?.[1] ?? []);
  return { unread, isComplete: code === 0 && unread.length === 0 };
}

/** For the patterns below. Not LC_ALL, which would also affect the user's filters. */
const ENGLISH_MESSAGES = { LANGUAGE: 'en' };
const USAGE_ERROR = 129;
/** Files that cannot be added: unreadable, already removed, a repository without a commit, or no regular file. */
const HARMLESS = new RegExp(
  [
    String.raw`^error: (?:open|readlink)\(".*"\): (?:Permission denied|No such file or directory)$`,
    `^error: unable to index file '`,
    `^error: '.*' does not have a commit checked out$`,
    '^error: .*: can only add regular files, symbolic links or git-directories$',
  ].join('|'),
);
const UNREADABLE = /^(?:error: open\("|warning: could not open directory ')(.*)["']\)?: Permission denied$/;

/** Removes files from an index. `git rm` would refuse files outside of a sparse checkout. */
export async function removeFromIndex(
  repository: Repository,
  index: string,
  pathspecs: readonly string[],
): Promise<void> {
  const args = ['ls-files', '--cached', '-z', '--', ...pathspecs];
  const listed = await gitOutput(repository, args, { GIT_INDEX_FILE: index });
  await forceRemove(repository, index, listed.split('\0').slice(0, -1));
}

async function forceRemove(repository: Repository, index: string, paths: readonly string[]): Promise<void> {
  if (paths.length === 0) return;
  const args = [...ISOLATED, 'update-index', '--force-remove', '-z', '--stdin'];
  const input = Buffer.from(paths.map((path) => `${path}\0`).join(''), 'latin1');
  const answer = await execGit(repository, args, { GIT_INDEX_FILE: index }, { input });
  if (answer.code !== 0) throw gitFailure(args, answer);
}

/** Writes the tree of an index and returns its id. */
export async function treeOfIndex(repository: Repository, index: string): Promise<string> {
  const args = [...ISOLATED, 'write-tree', '--missing-ok'];
  return (await gitOutput(repository, args, { GIT_INDEX_FILE: index })).trim();
}

/** Settings for commands on a scratch index: no caches beside an index that is thrown away. */
export const ISOLATED: readonly string[] = [
  'core.untrackedCache=false',
  'core.splitIndex=false',
  'advice.addEmbeddedRepo=false',
  // A record with converted line ends is better than none.
  'core.safecrlf=false',
].flatMap((setting) => ['-c', setting]);
const RALPH_FOLDERS = [':(top,glob)**/.ralph/**', ':(top,glob)**/.ralph'];

/** Copies the user's index to `scratch`, which starts empty if there is no index yet. */
export async function copyIndex(repository: Repository, scratch: string): Promise<void> {
  const index = Buffer.from(await gitPath(repository, ['--git-path', 'index']), 'latin1');
  makeFolders(dirname(scratch), PRIVATE_FOLDER);
  // An earlier process may have been killed.
  rmSync(scratch, { force: true });
  rmSync(`${scratch}.lock`, { force: true });
  // A FIFO in its place would block this process.
  if (statSync(index, { throwIfNoEntry: false })?.isFile() !== true) return;
  try {
    copyIndexFile(index, scratch);
  } catch (error) {
    throw new GitError(`cannot copy the index: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/**
 * Records a tree under a name in `refs/ralph/`, as a commit on top of another record or of HEAD. The parent shows what
 * the tree differs from, and the ref protects it from garbage collection.
 */
export async function recordTree(
  repository: Repository,
  { ref, tree, message, trailers = [], on }: NewRecord,
): Promise<string> {
  const base = on ?? (await headCommit(repository));
  const paragraphs = [message, ...(trailers.length === 0 ? [] : [trailers.join('\n')])];
  const commit = await commitTree(repository, tree, base, `${paragraphs.join('\n\n')}\n`);
  if (!(await writeRef(repository, ref, commit)))
    await gitOutput(repository, [...ISOLATED, 'update-ref', '--no-deref', ref, commit]);
  return commit;
}

async function commitTree(
  repository: Repository,
  tree: string,
  parent: string | null,
  message: string,
): Promise<string> {
  const person = `${NAME} <${EMAIL}>`;
  const written = parent === null ? null : await writeCommit(repository, { tree, parent, person, message });
  if (written !== null) return written;
  const args = ['commit-tree', tree, ...(parent === null ? [] : ['-p', parent])];
  // Not as an argument: a list of files may be too long for one.
  const answer = await execGit(repository, args, RALPH_IDENTITY, { input: message });
  if (answer.code !== 0) throw gitFailure(args, answer);
  return answer.stdout.toString('latin1').trim();
}

export interface NewRecord {
  readonly ref: string;
  readonly tree: string;
  readonly message: string;
  /** `Ralph-Iteration: 7`. */
  readonly trailers?: readonly string[];
  /** The record before it. */
  readonly on?: string | null;
}

const NAME = 'ralph';
const EMAIL = 'ralph@localhost';
const RALPH_IDENTITY = {
  GIT_AUTHOR_NAME: NAME,
  GIT_AUTHOR_EMAIL: EMAIL,
  GIT_COMMITTER_NAME: NAME,
  GIT_COMMITTER_EMAIL: EMAIL,
};

/** The tree of a record and the commit below it, or the empty tree if there was no commit. */
export async function readRecord(
  repository: Repository,
  ref: string,
): Promise<{ readonly tree: string; readonly base: string }> {
  const commit = await recordedCommit(repository, ref);
  if (commit === null) throw new GitError(`the record of the loop's start is gone: ${ref}`);
  const { tree, parent } = await readCommit(repository, commit);
  return { tree, base: parent ?? (await emptyTree(repository)) };
}

/** The id of a tree without files. Remembered: it depends on the kind of ids only, which a repository keeps. */
export async function emptyTree(repository: Repository): Promise<string> {
  const common = await commonFolder(repository);
  const known = emptyTrees.get(common);
  if (known !== undefined) return known;
  const id = (await gitOutput(repository, ['hash-object', '-t', 'tree', '/dev/null'])).trim();
  emptyTrees.set(common, id);
  return id;
}

const emptyTrees = new Map<string, string>();

/** The ref of a loop's record: `start`, the number of a checkpoint, or `rewind-1`. */
export function recordName(loop: string, what: string): string {
  return `refs/ralph/${loop.replaceAll(/\.{2,}/g, '.')}/${what}`;
}
