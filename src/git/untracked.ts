/** The files in the workspace that git does not track and does not ignore, and those of them that are too large to record. */
import { lstatSync } from 'node:fs';
import { gitOutput, prefixOf, type Repository } from './git.ts';

export interface Untracked {
  /** From the workspace, in Latin-1: the files to record. */
  readonly recorded: readonly string[];
  /** From the workspace, in Latin-1: the files that are left out. */
  readonly large: readonly string[];
}

export async function listUntracked(repository: Repository): Promise<Untracked> {
  const { folder, maxFileBytes = null } = repository;
  const args = ['ls-files', '--others', '--exclude-standard', '-z', '--', '.'];
  const paths = (await gitOutput(repository, args)).split('\0').slice(0, -1);
  const top = Buffer.from(`${folder}/`).toString('latin1');
  const isLarge = (path: string): boolean =>
    maxFileBytes !== null && !path.endsWith('/') && sizeOf(`${top}${path}`) > maxFileBytes;
  const large = new Set(paths.filter(isLarge));
  return { recorded: paths.filter((path) => !large.has(path)), large: [...large] };
}

/** Paths from the top of the repository, for paths from the workspace. */
export async function fromTop(repository: Repository, paths: readonly string[]): Promise<readonly string[]> {
  if (paths.length === 0) return [];
  const prefix = await prefixOf(repository);
  return paths.map((path) => `${prefix}${path}`);
}

/** The size of a regular file; 0 for anything else. */
function sizeOf(path: string): number {
  try {
    const found = lstatSync(Buffer.from(path, 'latin1'));
    return found.isFile() ? found.size : 0;
  } catch {
    return 0;
  }
}
