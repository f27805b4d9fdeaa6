import { createHash, type Hash } from 'node:crypto';
import { existsSync, lstatSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Execution } from '../process/exec.ts';
import { execGit, GitError, type Repository } from './git.ts';
import { isInRepository } from './location.ts';
import { isRepositoryOfItsOwn, withoutFilters, withoutNestedFilters } from './nested-filters.ts';

/**
 * A hash of the tree of HEAD, the files that differ from it, and their contents: commits with the same files give the same
 * hash. Null outside of a repository. Ignored files and `.ralph` do not count.
 */
export async function fingerprint(
  repository: Pick<Repository, 'folder' | 'env' | 'enclose'>,
): Promise<string | null> {
  const { folder, env, enclose } = repository;
  const state = isInRepository(folder) ? await stateOf({ command: ['git'], folder, env, enclose }) : null;
  return state === null ? null : createHash('sha256').update(state.head).update(state.changes).digest('hex');
}

/** What a working tree contains: the tree of HEAD (empty before the first commit), and a hash of what differs from it. */
export interface TreeState {
  readonly head: string;
  readonly changes: string;
}

/** The state of a working tree, but for one file if `except` names one, relative to the folder; null if git fails. */
export async function stateOf(own: Repository, except: string | null = null): Promise<TreeState | null> {
  const repository = await withoutNestedFilters(own).catch(nullIfGitIsMissing);
  if (repository === null) return null;
  const { folder } = repository;
  // Without locks, so that the agent's own git commands do not fail.
  const run = (args: readonly string[]): Promise<Execution | null> =>
    execGit(repository, args, { GIT_OPTIONAL_LOCKS: '0' }).catch(nullIfGitIsMissing);
  const [status, head] = await Promise.all([
    run(except === null ? STATUS : [...STATUS, `:(exclude,literal)${except}`]),
    run(['rev-parse', '--quiet', '--verify', 'HEAD^{tree}']),
  ]);
  if (status === null || status.code !== 0) return null;
  const top = await topLevel(repository);
  const hash = createHash('sha256').update(status.stdout);
  const paths = changedPaths(status.stdout.toString('utf8'));
  let budget = MAX_BYTES;
  for (const path of paths) {
    const file = join(top ?? folder, path);
    budget -= addContent(hash, file, budget);
    // A submodule or another repository inside of this one, which must not bring programs of its own.
    // oxlint-disable-next-line no-await-in-loop -- rare, and the order counts
    if (existsSync(join(file, '.git'))) hash.update(await nestedHash({ ...repository, folder: file }));
  }
  return {
    head: head?.code === 0 ? head.stdout.toString('utf8').trim() : '',
    changes: hash.digest('hex'),
  };
}

/** Whether anything but one file differs between two states of a working tree; null if git cannot say. */
export async function isChangedBeside(
  repository: Repository,
  file: string,
  before: TreeState,
  after: TreeState,
): Promise<boolean | null> {
  if (before.changes !== after.changes) return true;
  if (before.head === after.head) return false;
  // The first commit, or a plan that was committed.
  if (before.head === '' || after.head === '') return null;
  const between = [before.head, after.head, '--', ':/', `:(exclude,literal)${file}`];
  const found = await execGit(repository, ['diff-tree', '-r', '--name-only', '--no-renames', ...between]);
  return found.code === 0 ? found.stdout.length > 0 : null;
}

async function nestedHash(repository: Repository): Promise<string> {
  if (!(await isRepositoryOfItsOwn(repository))) return '';
  const state = await stateOf(await withoutFilters(repository));
  return state === null ? '' : `${state.head}${state.changes}`;
}

/** The limit for all files together; files beyond it count by size and time only. */
export const MAX_BYTES: number = 64 * 1024 * 1024;

const STATUS = [
  'status',
  '--porcelain=v2',
  '--untracked-files=all',
  '-z',
  '--',
  ':/',
  ':(exclude,top,glob)**/.ralph/**',
];

function nullIfGitIsMissing(error: unknown): null {
  if (error instanceof GitError) return null;
  throw error;
}

/** By folder: that of the loop, and the repositories inside of it. */
const knownTops = new Map<string, string | null>();
async function topLevel(repository: Repository): Promise<string | null> {
  const known = knownTops.get(repository.folder);
  if (known !== undefined) return known;
  const found = await execGit(repository, ['rev-parse', '--show-toplevel']);
  const top = found.code === 0 ? found.stdout.toString('utf8').replace(/\n$/, '') : null;
  knownTops.set(repository.folder, top);
  return top;
}

/** The files in the output of `git status --porcelain=v2 -z`. */
function changedPaths(status: string): readonly string[] {
  const entries = status.split('\0');
  const paths: string[] = [];
  for (let index = 0; index < entries.length; index++) {
    const entry = entries[index] ?? '';
    const field = (count: number): string => entry.split(' ').slice(count).join(' ');
    if (entry.startsWith('1 ')) paths.push(field(8));
    else if (entry.startsWith('u ')) paths.push(field(10));
    else if (entry.startsWith('? ')) paths.push(field(1));
    else if (entry.startsWith('2 ')) {
      paths.push(field(9));
      // The old name is a separate entry.
      index++;
    }
  }
  return paths;
}

/** Hashes a file, unless it has more bytes than the budget, and returns how many bytes were read. */
export function addContent(hash: Hash, path: string | Buffer, budget: number): number {
  const name = String(path);
  try {
    const { size, mtimeMs, mode } = lstatSync(path);
    const kind = mode & 0o170000;
    hash.update(`\0${name}\0${mode}\0`);
    if (kind === 0o120000) hash.update(readlinkSync(path));
    else if (kind === 0o100000 && size <= budget) {
      hash.update(readFileSync(path));
      return size;
    } else if (kind !== 0o040000) hash.update(`${size} ${mtimeMs}`);
  } catch {
    hash.update(`\0${name}\0gone`);
  }
  return 0;
}
