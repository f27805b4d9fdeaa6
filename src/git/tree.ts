/**
 * Writes the whole working tree as a git tree object.
 *
 * 1. The user's index, branch and files are not touched: everything happens in a copy of the index.
 * 2. The tree contains what git tracks or would track below the workspace; outside of the workspace it is as the index has
 *    it. Ignored files and `.ralph` folders are not in it.
 * 3. It works before the first commit, with any file name, and outside of a sparse checkout.
 * 4. Files that cannot be read, and untracked files that are too large, are reported; failing to write is an error. Nothing
 *    is left out silently.
 */
import { lstatSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { PRIVATE_FOLDER, makeFolders } from '../files/files.ts';
import { counted, sizeText } from '../loop/counted.ts';
import {
  bothOf,
  execGit,
  gitFailure,
  GitError,
  gitLine,
  gitOutput,
  outputIn,
  type LineAnswer,
  type OneGit,
  type Repository,
} from './git.ts';
import {
  copyIndexFile,
  entriesIn,
  indexFile,
  indexPath,
  isScratchKept,
  keepScratchIndex,
  takeScratchIndex,
} from './index-file.ts';
import { withoutNestedFilters } from './nested-filters.ts';
import {
  fromTop,
  isThere,
  leftOut,
  LIST_UNTRACKED,
  sizeOfAll,
  untrackedIn,
  type Untracked,
} from './untracked.ts';

/** Writes the tree as it is now and returns its id; `scratch` is a file that no other process uses. */
export function writeTree(repository: Repository, scratch: string): Promise<string> {
  return withTree(repository, scratch, async ({ tree }) => tree);
}

/**
 * Like `writeTree`, but keeps the tree's index in `scratch` for `use`. With `keepsIndex` the index also stays for the next
 * look, so that git reads only the files that have changed since.
 */
export async function withTree<T>(
  repository: Repository,
  scratch: string,
  use: (seen: SeenTree) => Promise<T>,
  { keepsIndex = false }: { readonly keepsIndex?: boolean } = {},
): Promise<T> {
  try {
    const index = await indexFile(repository);
    const before = takeScratchIndex(scratch, index)?.untracked ?? null;
    const { untracked, added, commit, head } = await fill(repository, scratch, before);
    const { recorded, large } = untracked;
    let { tree } = added;
    if (index?.mayHaveRalph === true || recorded.some(isRalphs)) {
      await removeFromIndex(repository, scratch, RALPH_FOLDERS);
      tree = await treeOfIndex(repository, scratch);
    }
    // A tracked file that is missing is out of the index, and is not found again there if git also ignores it.
    const own = recorded.filter((path) => !isRalphs(path));
    if (keepsIndex && added.isComplete && entriesIn(scratch) === (index?.entries ?? NaN) + own.length)
      keepScratchIndex(scratch, { of: index?.stamp ?? '', untracked: own });
    const hasNested = index?.mayHaveNested === true || recorded.some(isNested);
    const isWhole = added.isComplete && !hasNested;
    return await use({
      tree,
      commit,
      head,
      unread: added.unread,
      large: await fromTop(repository, large),
      isWhole,
    });
  } finally {
    if (!isScratchKept(scratch)) rmSync(scratch, { force: true });
    rmSync(`${scratch}.lock`, { force: true });
  }
}

interface Filled {
  readonly untracked: Untracked;
  readonly added: Added;
  readonly commit: string | null;
  readonly head: string;
}

/**
 * Fills a scratch index: one that was kept, with the files that were untracked `before`, or a new copy of the user's index.
 * One line of gits adds the changes of its files and writes its tree, while another lists new files; only these need a third one.
 * Nothing adds them before they are listed, because git must not read a file that is too large.
 */
async function fill(
  repository: Repository,
  scratch: string,
  before: readonly string[] | null,
): Promise<Filled> {
  if (before === null) await copyIndex(repository, scratch);
  else if (leftOut(repository, before).size > 0) return fill(repository, scratch, null);
  rmSync(`${scratch}.lock`, { force: true });
  const filtered = await withoutNestedFilters(repository);
  const [[listed], [updated, tree, found]] = await bothOf(
    gitLine(filtered, (git) => [git(LIST_UNTRACKED)]),
    gitLine(filtered, (git) => [
      addCommand(git, scratch, ['--update', '--ignore-errors', '--', '.']),
      writeTreeCommand(git, scratch),
      // Prints nothing before the first commit.
      git(['rev-parse', '--revs-only', 'HEAD^{commit}', 'HEAD^{tree}']),
    ]),
  );
  const untracked = untrackedIn(repository, listed);
  const added = addedIn(updated, tree);
  const [commit = '', head = ''] = outputIn(found, 'rev-parse').split('\n');
  const now = new Set(untracked.recorded);
  // Ignored or too large by now: the user's index does not have them.
  if (before?.some((path) => !now.has(path) && isThere(repository, path)) === true)
    return fill(repository, scratch, null);
  const known = new Set(before);
  const isUpToDate = untracked.isComplete && untracked.recorded.every((path) => known.has(path));
  const all = isUpToDate ? added : await addAll(repository, scratch, untracked, known);
  return { untracked, added: all, commit: commit === '' ? null : commit, head };
}

/** A tree that was written, and what it lacks. All paths are from the top of the repository. */
export interface SeenTree {
  readonly tree: string;
  /** The commit that was checked out; null before the first one. */
  readonly commit: string | null;
  /** The tree of that commit; empty before the first one. */
  readonly head: string;
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
  before: ReadonlySet<string>,
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
  const lines = ['.', ...except.map((path) => `:(exclude,literal)${path}`)];
  return addListed(repository, scratch, all, lines);
}

/** Adds the files of a list of pathspecs, in Latin-1, which may be too long for arguments. */
export async function addListed(
  repository: Repository,
  scratch: string,
  options: readonly string[],
  pathspecs: readonly string[],
): Promise<Added> {
  const list = `${scratch}-paths`;
  // A filter can write beside the index: no link of its own is followed.
  rmSync(list, { force: true });
  try {
    writeFileSync(list, pathspecs.map((line) => `${line}\0`).join(''), { encoding: 'latin1', flag: 'wx' });
    const from = [`--pathspec-from-file=${list}`, '--pathspec-file-nul'];
    return await addToIndex(repository, scratch, [...options, ...from]);
  } finally {
    rmSync(list, { force: true });
  }
}

interface Added {
  /** The paths that cannot be read. */
  readonly unread: readonly string[];
  /** Whether everything was added. */
  readonly isComplete: boolean;
  /** The tree of the index. */
  readonly tree: string;
}

/** Adds files to a scratch index and writes its tree. */
async function addToIndex(repository: Repository, index: string, what: readonly string[]): Promise<Added> {
  const [added, tree] = await gitLine(await withoutNestedFilters(repository), (git) => [
    addCommand(git, index, what),
    writeTreeCommand(git, index),
  ]);
  return addedIn(added, tree);
}

/** git before 2.34 does not know `--sparse`, and fails with code 129. */
function addCommand(git: OneGit, index: string, what: readonly string[]): string {
  const add = (options: readonly string[]): string =>
    git([...ISOLATED, 'add', ...options, ...what], { GIT_INDEX_FILE: index, ...ENGLISH_MESSAGES });
  return `${add(['--sparse'])} || (code=$?; [ $code = 129 ] || exit $code; ${add([])})`;
}

function writeTreeCommand(git: OneGit, index: string): string {
  return git([...ISOLATED, 'write-tree', '--missing-ok'], { GIT_INDEX_FILE: index });
}

function addedIn(answer: LineAnswer | undefined, tree: LineAnswer | undefined): Added {
  const lines = answer?.stderr.split('\n') ?? [];
  const isHarmless = lines.every((line) => !line.startsWith('error:') || HARMLESS.test(line));
  outputIn(answer, 'add', isHarmless ? [0, 1] : [0]);
  const unread = lines.flatMap((line) => UNREADABLE.exec(line)?.[1] ?? []);
  return {
    unread,
    isComplete: answer?.code === 0 && unread.length === 0,
    tree: outputIn(tree, 'write-tree').trim(),
  };
}

/** For the patterns below. Not LC_ALL, which would also affect the user's filters. */
const ENGLISH_MESSAGES = { LANGUAGE: 'en' };
/** Files that cannot be added: unreadable, already removed, a repository without a commit, or no regular file. */
const HARMLESS = new RegExp(
  [
    String.raw`^error: (?:open|readlink)\(".*"\): (?:Permission denied|No such file or directory)$`,
    `^error: unable to index file '`,
    '^error: unknown option .sparse.$',
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
  const inIndex = { GIT_INDEX_FILE: index };
  const listed = await gitOutput(repository, ['ls-files', '--cached', '-z', '--', ...pathspecs], inIndex);
  if (listed === '') return;
  const args = [...ISOLATED, 'update-index', '--force-remove', '-z', '--stdin'];
  const answer = await execGit(repository, args, inIndex, { input: Buffer.from(listed, 'latin1') });
  if (answer.code !== 0) throw gitFailure(args, answer);
}

/** Writes the tree of an index and returns its id. */
export async function treeOfIndex(repository: Repository, index: string): Promise<string> {
  const [tree] = await gitLine(repository, (git) => [writeTreeCommand(git, index)]);
  return outputIn(tree, 'write-tree').trim();
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
  const index = Buffer.from(await indexPath(repository), 'latin1');
  makeFolders(dirname(scratch), PRIVATE_FOLDER);
  // An earlier process may have been killed.
  rmSync(scratch, { force: true });
  rmSync(`${scratch}.lock`, { force: true });
  const found = lstatSync(index, { throwIfNoEntry: false });
  if (found === undefined) {
    await gitOutput(repository, [...ISOLATED, 'read-tree', '--empty'], { GIT_INDEX_FILE: scratch });
    return;
  }
  // An agent may have put a link or a FIFO in its place.
  if (!found.isFile()) throw new GitError('cannot copy the index: it is no regular file');
  try {
    copyIndexFile(index, scratch);
  } catch (error) {
    throw new GitError(`cannot copy the index: ${error instanceof Error ? error.message : String(error)}`);
  }
}
