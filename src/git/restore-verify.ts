/** Looks at the disk before a restore (is something in the way?) and after it (is everything as planned?). */
import { readdirSync } from 'node:fs';
import { gitOutput, topOf, utf8, type Repository } from './git.ts';
import { blockedBy, kindOf } from './path-kind.ts';
import { RestoreError } from './git-error.ts';
import type { FileChange } from './restore-plan.ts';

/** Refuses to replace a folder that has ignored files: git would delete them, and they are not recorded. */
export async function refuseFoldersInTheWay(
  repository: Repository,
  changes: readonly FileChange[],
): Promise<void> {
  const top = await topOf(repository);
  const removed = new Set(changes.filter(({ isGone }) => isGone).map(({ path }) => path));
  for (const { path, isNew, isRepository } of changes) {
    if (!isNew || isRepository || blockedBy(top, path) !== path) continue;
    const unrecorded = firstFileNotIn(removed, top, path);
    if (unrecorded !== null)
      throw new RestoreError(
        `${utf8(path)} is now a folder with files that git ignores (${utf8(unrecorded)}); move it out of the way`,
        true,
      );
  }
}

/** The first file in a folder that is not among the known ones. */
function firstFileNotIn(known: ReadonlySet<string>, top: string, folder: string): string | null {
  const folders = kindOf(`${top}/${folder}`) === 'folder' ? [folder] : [];
  for (let inner = folders.pop(); inner !== undefined; inner = folders.pop()) {
    for (const name of readdirSync(Buffer.from(`${top}/${inner}`, 'latin1'), 'latin1')) {
      const path = `${inner}/${name}`;
      if (kindOf(`${top}/${path}`) === 'folder') folders.push(path);
      else if (!known.has(path)) return path;
    }
  }
  return null;
}

/** Throws if a file is not as planned; names the first few. */
export async function refuseIncomplete(
  repository: Repository,
  index: string,
  changes: readonly FileChange[],
): Promise<void> {
  const top = await topOf(repository);
  const isOnDisk = ({ path }: FileChange): boolean =>
    blockedBy(top, path) === path && kindOf(`${top}/${path}`) === 'file';
  const files = changes.filter(({ isRepository }) => !isRepository);
  const notRemoved = files.filter((change) => change.isGone && isOnDisk(change));
  const missing = files.filter((change) => !change.isGone && !isOnDisk(change));
  const args = ['diff-files', '--name-only', '--ignore-submodules=all', '-z', '--', '.'];
  const listed = await gitOutput(repository, args, { GIT_INDEX_FILE: index });
  const planned = new Set(changes.map(({ path }) => path));
  const differing = listed
    .split('\0')
    .slice(0, -1)
    .filter((path) => planned.has(path));
  const paths = [...notRemoved, ...missing].map(({ path }) => path).concat(differing);
  const names = [...new Set(paths)].map(utf8);
  if (names.length === 0) return;
  const more = names.length > MAX_NAMES ? [`and ${names.length - MAX_NAMES} more`] : [];
  throw new RestoreError(
    `these files could not be restored: ${[...names.slice(0, MAX_NAMES), ...more].join(', ')}`,
    false,
  );
}

const MAX_NAMES = 5;
