/**
 * Restores the files of a workspace from a record.
 *
 * 1. Nothing is lost: everything that is changed or removed is recorded first, files that git ignores now included. Files
 *    that git would not restore exactly are copied beside the record.
 * 2. HEAD, the branch and the index stay as they are. So do ignored files that the record does not have, files that are too
 *    large for records, `.ralph`, the checkouts of submodules, and everything outside of the workspace. A sparse checkout
 *    hides nothing.
 * 3. If something is in the way, git notices in advance and nothing is changed; otherwise the error names the files that
 *    are not as they should be.
 */
import { rmSync } from 'node:fs';
import { differingFromCopies, restoreExactCopies, saveExactCopies } from './exact-copies.ts';
import { gitOutput, topOf, utf8, type Repository } from './git.ts';
import { kindOf } from './path-kind.ts';
import { leftOutOf } from './records.ts';
import { applyRestore } from './restore-apply.ts';
import { RestoreError } from './git-error.ts';
import { planRestore, type FileChange } from './restore-plan.ts';
import { refuseFoldersInTheWay, refuseIncomplete } from './restore-verify.ts';
import { withTree } from './tree.ts';

/** Restores the files of a record. `keep` records the current tree before anything is changed. */
export function restoreFiles(repository: Repository, order: RestoreOrder): Promise<Restored> {
  const { scratch, keep, copies } = order;
  return withTree(repository, scratch, async ({ tree: before, large }) => {
    const untouched = new Set([...large, ...(await leftOutOf(repository, order.to))]);
    const top = await topOf(repository);
    const left = [...untouched].map((path) => ({
      path: utf8(path),
      isThere: kindOf(`${top}/${path}`) === 'file',
    }));
    const plan = await planRestore(repository, { ...order, untouched }, before);
    const repositories = plan.changes.filter(isNested).map(({ path }) => utf8(path));
    const inexact = await differingFromCopies(repository, copies.from);
    if (plan.pending.length === 0 && inexact.length === 0)
      return { change: null, files: [], repositories, left, copied: 0, exact: 0 };

    await refuseFoldersInTheWay(repository, plan.changes);
    await keep(plan.current);
    const copied = await saveCopies(repository, order, plan.changes, inexact);

    const { tree, ignored } = await applyRestore(repository, plan, { scratch, before });
    const isRestored = (change: FileChange): boolean => !ignored.includes(change);
    await refuseIncomplete(repository, scratch, plan.changes.filter(isRestored));
    const exact = await restoreCopies(repository, copies.from);

    const change =
      (await changeBetween(repository, plan.current, tree)) ??
      `${exact.length} file${exact.length === 1 ? '' : 's'} changed`;
    const files = restoredFiles(plan.pending.filter(isRestored), exact);
    return { change, files, repositories, left, copied, exact: exact.length };
  });
}

export interface RestoreOrder {
  /** The record. */
  readonly to: string;
  /** A file that no other process uses. */
  readonly scratch: string;
  readonly keep: (tree: string) => Promise<unknown>;
  /** Folders of exact copies: of the current files, and those that belong to the record, if any. */
  readonly copies: { readonly into: string; readonly from: string };
}

export interface Restored {
  /** `3 files changed, 4 insertions(+)`; null if there was nothing to restore. */
  readonly change: string | null;
  readonly files: readonly RestoredFile[];
  /** Nested repositories that differ from the record; their checkouts are left as they are. */
  readonly repositories: readonly string[];
  /** Files that are too large for records, or were when the record was made; they are left as they are. */
  readonly left: readonly { readonly path: string; readonly isThere: boolean }[];
  /** How many files were copied because git would not restore them exactly. */
  readonly copied: number;
  /** How many files were restored from such copies. */
  readonly exact: number;
}

export interface RestoredFile {
  readonly path: string;
  readonly how: 'changed' | 'removed' | 'added';
}

function isNested({ isRepository }: FileChange): boolean {
  return isRepository;
}

/** Copies the files that git would not restore exactly, and returns their number. */
function saveCopies(
  repository: Repository,
  { scratch, copies }: RestoreOrder,
  changes: readonly FileChange[],
  inexact: readonly string[],
): Promise<number> {
  const known = new Set(changes.map(({ path }) => path));
  const changed = changes
    .filter(({ isNew, isRepository }) => !isNew && !isRepository)
    .map(({ path, before }) => ({ path, mode: before.slice(0, 6) }));
  const others = inexact.filter((path) => !known.has(path)).map((path) => ({ path, mode: '' }));
  return withCopyErrors({ isUntouched: true }, () => {
    // An earlier rewind may have been killed before it recorded anything.
    rmSync(copies.into, { recursive: true, force: true });
    return saveExactCopies(repository, [...changed, ...others], {
      index: scratch,
      folder: copies.into,
      scratch: `${scratch}-files`,
    });
  });
}

/** Replaces the files that differ from the record's exact copies, and returns their paths. */
async function restoreCopies(repository: Repository, folder: string): Promise<readonly string[]> {
  const paths = await differingFromCopies(repository, folder);
  await withCopyErrors({ isUntouched: false }, () => restoreExactCopies(repository, folder, paths));
  return paths;
}

async function withCopyErrors<T>(
  { isUntouched }: Pick<RestoreError, 'isUntouched'>,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new RestoreError(`cannot copy a file: ${reason}`, isUntouched);
  }
}

/** Independent of the user's diff settings, and without nested repositories. */
async function changeBetween(repository: Repository, from: string, to: string): Promise<string | null> {
  const options = ['-r', '-M', '--no-ext-diff', '--ignore-submodules=all', '--shortstat'];
  const output = await gitOutput(repository, ['diff-tree', ...options, from, to], { LC_ALL: 'C' });
  const change = output.trim();
  return change === '' ? null : change;
}

function restoredFiles(changes: readonly FileChange[], exact: readonly string[]): readonly RestoredFile[] {
  const named = new Set(changes.map(({ path }) => path));
  return [
    ...changes.map(({ path, isNew, isGone }) => ({
      path: utf8(path),
      how: isNew ? ('added' as const) : isGone ? ('removed' as const) : ('changed' as const),
    })),
    // Git sees no difference in the files that were restored from copies only.
    ...exact
      .filter((path) => !named.has(path))
      .map((path) => ({ path: utf8(path), how: 'changed' as const })),
  ];
}
