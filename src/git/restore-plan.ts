/** What a restore has to change: the tree that is there, the tree that is wanted, and the files in which they differ. */
import { rmSync } from 'node:fs';
import { differences, GITLINK_MODE } from './differences.ts';
import {
  execGit,
  GitError,
  gitFailure,
  gitOutput,
  prefixOf,
  resolveRevision,
  topOf,
  utf8,
  type Repository,
} from './git.ts';
import { blockedBy, kindOf } from './path-kind.ts';
import { addListed, ISOLATED, removeFromIndex, treeOfIndex } from './tree.ts';

export interface RestorePlan {
  /** The tree that is there, with the ignored files that are about to change. */
  readonly current: string;
  /** The tree that is wanted. */
  readonly target: string;
  /** Every file in which they differ. */
  readonly changes: readonly FileChange[];
  /** The changes that still have to be made on disk. */
  readonly pending: readonly FileChange[];
}

/** A file that a restore changes, creates (`isNew`) or removes (`isGone`). */
export interface FileChange {
  /** From the top of the repository, in Latin-1. */
  readonly path: string;
  readonly isNew: boolean;
  readonly isGone: boolean;
  /** A nested repository, which a restore never touches. */
  readonly isRepository: boolean;
  /** Its mode and object before. */
  readonly before: string;
}

/** Plans the way from the tree in the index `scratch` to the record `to`; files in `untouched` stay as they are. */
export async function planRestore(
  repository: Repository,
  {
    to,
    scratch,
    untouched,
  }: { readonly to: string; readonly scratch: string; readonly untouched: ReadonlySet<string> },
  tree: string,
): Promise<RestorePlan> {
  const wanted = await resolveRevision(repository, `${to}^{tree}`);
  if (wanted === null) throw new GitError(`the record ${to} is gone`);
  const current = await withIgnoredFiles(repository, { scratch, untouched }, tree, wanted);
  const limited = await limitToWorkspace(repository, current, wanted, `${scratch}-target`);
  const all = await changesBetween(repository, current, limited);
  const isUntouched = ({ path }: FileChange): boolean => untouched.has(path);
  const target = await treeWithChangesUndone(
    repository,
    limited,
    all.filter(isUntouched),
    `${scratch}-target`,
  );
  const changes = all.filter((change) => !isUntouched(change));
  const top = await topOf(repository);
  // In a sparse checkout the index has files that are not on disk.
  const isDone = ({ isRepository, isGone, path }: FileChange): boolean =>
    isRepository || (isGone && kindOf(`${top}/${path}`) !== 'file');
  return { current, target, changes, pending: changes.filter((change) => !isDone(change)) };
}

async function changesBetween(
  repository: Repository,
  from: string,
  to: string,
): Promise<readonly FileChange[]> {
  return (await differences(repository, from, to)).map(({ path, kind, modes, object }) => ({
    path,
    isNew: kind === 'new',
    isGone: kind === 'gone',
    isRepository: modes.includes(GITLINK_MODE),
    before: `${modes[0]} ${object}`,
  }));
}

/** Adds the files on disk that the record has too and that git ignores now, because the restore changes them. */
async function withIgnoredFiles(
  repository: Repository,
  { scratch, untouched }: { readonly scratch: string; readonly untouched: ReadonlySet<string> },
  tree: string,
  wanted: string,
): Promise<string> {
  const changes = await changesBetween(repository, tree, wanted);
  const missing = changes.filter(({ isNew, isRepository }) => isNew && !isRepository);
  const top = await topOf(repository);
  const paths = missing.map(({ path }) => blockedBy(top, path));
  const isIgnored = (path: string): boolean => !untouched.has(path) && kindOf(`${top}/${path}`) === 'file';
  const ignored = new Set(paths.filter(isIgnored));
  if (ignored.size === 0) return tree;
  const pathspecs = [...ignored].map((path) => `:(top,literal)${path}`);
  await addListed(repository, scratch, ['--force'], pathspecs);
  return treeOfIndex(repository, scratch);
}

/** The current tree, with everything below the workspace as it is wanted. */
async function limitToWorkspace(
  repository: Repository,
  current: string,
  wanted: string,
  scratch: string,
): Promise<string> {
  const prefix = utf8(await prefixOf(repository));
  if (prefix === '') return wanted;
  const inScratch = { GIT_INDEX_FILE: scratch };
  try {
    await gitOutput(repository, [...ISOLATED, 'read-tree', current], inScratch);
    await removeFromIndex(repository, scratch, ['.']);
    const part = await resolveRevision(repository, `${wanted}:${prefix.replace(/\/$/, '')}`);
    if (part !== null)
      await gitOutput(repository, [...ISOLATED, 'read-tree', `--prefix=${prefix}`, part], inScratch);
    return await treeOfIndex(repository, scratch);
  } finally {
    rmSync(scratch, { force: true });
    rmSync(`${scratch}.lock`, { force: true });
  }
}

/** A tree without these changes: the files are in it as they were before. */
export async function treeWithChangesUndone(
  repository: Repository,
  tree: string,
  changes: readonly FileChange[],
  scratch: string,
): Promise<string> {
  if (changes.length === 0) return tree;
  const inScratch = { GIT_INDEX_FILE: scratch };
  const input = Buffer.from(changes.map(({ before, path }) => `${before}\t${path}\0`).join(''), 'latin1');
  try {
    await gitOutput(repository, [...ISOLATED, 'read-tree', tree], inScratch);
    const add = [...ISOLATED, 'update-index', '-z', '--index-info'];
    const answer = await execGit(repository, add, inScratch, { input });
    if (answer.code !== 0) throw gitFailure(['update-index'], answer);
    return await treeOfIndex(repository, scratch);
  } finally {
    rmSync(scratch, { force: true });
    rmSync(`${scratch}.lock`, { force: true });
  }
}
