import { createHash, type Hash } from 'node:crypto';
import { existsSync, lstatSync, readFileSync, readlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Execution } from '../process/exec.ts';
import { execGit, GitError, type Repository } from './git.ts';
import { isRepositoryOfItsOwn, withoutFilters, withoutNestedFilters } from './nested-filters.ts';

/**
 * A hash of the tree of HEAD, the files that differ from it, and their contents: commits with the same files give the same
 * hash. Null outside of a repository. Ignored files and `.ralph` do not count.
 */
export async function fingerprint(
  workspace: string,
  env: Readonly<Record<string, string>>,
): Promise<string | null> {
  return isInRepository(workspace) ? hashOf({ command: ['git'], folder: workspace, env }) : null;
}

async function hashOf(own: Repository): Promise<string | null> {
  const repository = await withoutNestedFilters(own);
  const { folder } = repository;
  // Without locks, so that the agent's own git commands do not fail.
  const run = (args: readonly string[]): Promise<Execution | null> =>
    execGit(repository, args, { GIT_OPTIONAL_LOCKS: '0' }).catch(nullIfGitIsMissing);
  const [status, head] = await Promise.all([
    run(STATUS),
    run(['rev-parse', '--quiet', '--verify', 'HEAD^{tree}']),
  ]);
  if (status === null || status.code !== 0) return null;
  const top = await topLevel(repository);
  // Before the first commit there is no tree.
  const hash = createHash('sha256')
    .update(head?.code === 0 ? head.stdout : '')
    .update(status.stdout);
  const paths = changedPaths(status.stdout.toString('utf8'));
  let budget = MAX_BYTES;
  for (const path of paths) {
    const file = join(top ?? folder, path);
    budget -= addContent(hash, file, budget);
    // A submodule or another repository inside of this one, which must not bring programs of its own.
    // oxlint-disable-next-line no-await-in-loop -- rare, and the order counts
    if (existsSync(join(file, '.git'))) hash.update(await nestedHash({ ...repository, folder: file }));
  }
  return hash.digest('hex');
}

async function nestedHash(repository: Repository): Promise<string> {
  if (!(await isRepositoryOfItsOwn(repository))) return '';
  return (await hashOf(await withoutFilters(repository))) ?? '';
}

/** Whether a folder is in a repository. Cheaper than running git. */
export function isInRepository(folder: string): boolean {
  return existsSync(join(folder, '.git')) || (dirname(folder) !== folder && isInRepository(dirname(folder)));
}

/** The limit for all files together; files beyond it count by size and time only. */
const MAX_BYTES = 64 * 1024 * 1024;

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

/** Hashes a file and returns how many bytes were read. */
function addContent(hash: Hash, path: string, budget: number): number {
  try {
    const { size, mtimeMs, mode } = lstatSync(path);
    const kind = mode & 0o170000;
    hash.update(`\0${path}\0${mode}\0`);
    if (kind === 0o120000) hash.update(readlinkSync(path));
    else if (kind === 0o100000 && size <= budget) {
      hash.update(readFileSync(path));
      return size;
    } else if (kind !== 0o040000) hash.update(`${size} ${mtimeMs}`);
  } catch {
    hash.update(`\0${path}\0gone`);
  }
  return 0;
}
