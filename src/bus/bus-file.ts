import type { Stats } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { foundAt } from '../files/files.ts';

/** Where a bus is. The folders `parts` below `root` may not be links; `root` itself is trusted. */
export interface BusFile {
  readonly root: string;
  readonly parts: readonly string[];
  readonly name: string;
}

/** The names that a bus can have: of a task, and of all tasks of a workspace. */
export const TASK_BUS = 'TASK-MESSAGE-BUS.md';
export const PROJECT_BUS = 'PROJECT-MESSAGE-BUS.md';

export const MAX_HEADER_BYTES: number = 64 * 1024;

/** The bus at a path; below a folder `.ralph`, nothing on the way may be a link. */
export function busAt(path: string): BusFile {
  const folder = dirname(path);
  const at = `${folder}/`.lastIndexOf('/.ralph/');
  if (at <= 0) return { root: folder, parts: [], name: basename(path) };
  return { root: folder.slice(0, at), parts: folder.slice(at + 1).split('/'), name: basename(path) };
}

export function pathOf({ root, parts, name }: BusFile): string {
  return join(root, ...parts, name);
}

/**
 * The nearest bus of this user in a folder or above it, below the folder `end`; null if there is none. Other users may write to
 * a folder above.
 */
export function nearestBus(from: string, end: string | null = null): BusFile | null {
  for (let folder = from; folder !== end; folder = dirname(folder)) {
    const paths = [TASK_BUS, PROJECT_BUS, join('.ralph', PROJECT_BUS)].map((name) => join(folder, name));
    const found = paths.find((path) => isOwnFile(foundAt(path)));
    if (found !== undefined) return busAt(found);
    if (dirname(folder) === folder) break;
  }
  return null;
}

function isOwnFile(found: Stats | null): boolean {
  return found !== null && found.isFile() && found.uid === process.getuid?.();
}
