/** The files in the workspace that git does not track and does not ignore, and those of them that are too large to record. */
import { lstatSync } from 'node:fs';
import { execGit, gitFailure, prefixOf, type Repository } from './git.ts';

export interface Untracked {
  /** From the workspace, in Latin-1: the files to record. */
  readonly recorded: readonly string[];
  /** From the workspace, in Latin-1: the files that are left out. */
  readonly large: readonly string[];
  /** Whether git could look into all folders. */
  readonly isComplete: boolean;
}

export async function listUntracked(repository: Repository): Promise<Untracked> {
  const args = ['ls-files', '--others', '--exclude-standard', '-z', '--', '.'];
  const answer = await execGit(repository, args);
  if (answer.code !== 0) throw gitFailure(args, answer);
  const paths = answer.stdout.toString('latin1').split('\0').slice(0, -1);
  const large = new Set(paths.filter((path) => isTooLarge(repository, path)));
  return {
    recorded: paths.filter((path) => !large.has(path)),
    large: [...large],
    isComplete: answer.stderr === '',
  };
}

/** Whether an untracked file has too many bytes to be recorded; the path is from the workspace, in Latin-1. */
export function isTooLarge({ folder, maxFileBytes = null }: Repository, path: string): boolean {
  return maxFileBytes !== null && !path.endsWith('/') && sizeOf(absolute(folder, path)) > maxFileBytes;
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
