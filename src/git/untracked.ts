/** The files in the workspace that git does not track and does not ignore, and those of them that are left out of records. */
import { lstatSync } from 'node:fs';
import { GitError, outputIn, prefixOf, type LineAnswer, type Repository } from './git.ts';

export interface Untracked {
  /** From the workspace, in Latin-1: the files to record. */
  readonly recorded: readonly string[];
  /** From the workspace, in Latin-1: the files that are left out. */
  readonly large: readonly string[];
  /** Whether git could look into all folders. */
  readonly isComplete: boolean;
}

/** Lists them. */
export const LIST_UNTRACKED: readonly string[] = [
  'ls-files',
  '--others',
  '--exclude-standard',
  '-z',
  '--',
  '.',
];

/** What git has listed. */
export function untrackedIn(repository: Repository, answer: LineAnswer | undefined): Untracked {
  const paths = outputIn(answer, 'ls-files').split('\0').slice(0, -1);
  const large = leftOut(repository, paths);
  return {
    recorded: paths.filter((path) => !large.has(path)),
    large: [...large],
    isComplete: answer?.stderr === '',
  };
}

/**
 * Which of these untracked files are left out of records: each that is too large, and the largest of the others while they are too
 * large together. The paths are from the workspace, in Latin-1.
 */
export function leftOut(repository: Repository, paths: readonly string[]): ReadonlySet<string> {
  const { maxFileBytes, maxTotalBytes } = repository;
  const largest = (maxFileBytes ?? maxTotalBytes ?? null) === null ? [] : bySize(repository, paths);
  let total = largest.reduce((sum, { size }) => sum + size, 0);
  const isLeftOut = ({ size }: Sized): boolean =>
    size > (maxFileBytes ?? Infinity) || total > (maxTotalBytes ?? Infinity);
  const large = new Set<string>();
  for (const file of largest) {
    if (!isLeftOut(file)) break;
    large.add(file.path);
    total -= file.size;
  }
  if (large.size <= MAX_LEFT_OUT) return large;
  throw new GitError(
    `more than ${MAX_LEFT_OUT} untracked files would be left out of checkpoints; add them to .gitignore, or raise the limit with --checkpoint-max-total`,
  );
}

/** Git compares each file with the name of each file that it leaves out: with more it would take minutes. */
const MAX_LEFT_OUT = 20_000;

interface Sized {
  readonly path: string;
  readonly size: number;
}

/** The largest first. */
function bySize({ folder }: Repository, paths: readonly string[]): readonly Sized[] {
  return paths
    .filter((path) => !path.endsWith('/'))
    .map((path) => ({ path, size: sizeOf(absolute(folder, path)) }))
    .toSorted((a, b) => b.size - a.size || (a.path < b.path ? -1 : 1));
}

/** The size of these files together. */
export function sizeOfAll({ folder }: Repository, paths: readonly string[]): number {
  return paths.reduce((sum, path) => sum + sizeOf(absolute(folder, path)), 0);
}

/** Which of these files are larger than the limit; the paths are from the top of the repository, in Latin-1. */
export function tooLarge(
  top: string,
  paths: readonly string[],
  limit: number | null = null,
): readonly string[] {
  return limit === null ? [] : paths.filter((path) => sizeOf(absolute(top, path)) > limit);
}

/** Whether a path leads to something; it is from the workspace, in Latin-1. */
export function isThere({ folder }: Repository, path: string): boolean {
  try {
    lstatSync(absolute(folder, path));
    return true;
  } catch {
    return false;
  }
}

function absolute(folder: string, path: string): Buffer {
  return Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(path, 'latin1')]);
}

/** Paths from the top of the repository, for paths from the workspace. */
export async function fromTop(repository: Repository, paths: readonly string[]): Promise<readonly string[]> {
  if (paths.length === 0) return [];
  const prefix = await prefixOf(repository);
  return paths.map((path) => `${prefix}${path}`);
}

/** The size of a regular file; 0 for anything else. */
function sizeOf(path: Buffer): number {
  try {
    const found = lstatSync(path);
    return found.isFile() ? found.size : 0;
  } catch {
    return 0;
  }
}
