/** Symbolic links in a git folder. Git follows them, and Ralph does not: an agent that can write the folder may have made them. */
import { readdirSync, type Dirent } from 'node:fs';
import { join } from 'node:path';
import { GitError } from './git-error.ts';
import { commonFolder, type Repository } from './git.ts';

/** The links below a folder, each as the names that lead to it. */
export function linksBelow(
  folder: string,
  at: readonly string[] = [],
): readonly (readonly [string, ...string[]])[] {
  return entriesOf(join(folder, ...at)).flatMap((entry) => {
    if (entry.isSymbolicLink()) return [pathOf([...at, entry.name])];
    return entry.isDirectory() ? linksBelow(folder, [...at, entry.name]) : [];
  });
}

function pathOf([first = '', ...rest]: readonly string[]): readonly [string, ...string[]] {
  return [first, ...rest];
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    // Gone meanwhile, or not readable.
    return [];
  }
}

/**
 * The repository for git's own files outside of a view: worktrees, and notes in the configuration. These commands check out
 * nothing, so no filter runs; refuses a link where they write.
 */
export async function outside(repository: Repository): Promise<Repository> {
  const { enclose } = repository;
  const isShared = enclose !== null && (await enclose(repository, null)) !== null;
  if (!isShared) return repository;
  const common = await commonFolder(repository);
  const link = linksBelow(common).find(([first]) => first !== 'objects');
  if (link !== undefined)
    throw new GitError(`${join(common, ...link)} is a symbolic link, which git would follow; remove it`);
  return { ...repository, enclose: null };
}
