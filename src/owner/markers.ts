/** Marker files such as `DONE`, in the workspace folder or where the policy puts them. */
import { cpSync, existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { below } from '../files/below.ts';
import { isTaken, isInside, realPath } from '../files/files.ts';
import type { Policy } from '../loop/policy.ts';
import { inWorkspaceFolder } from '../workspace/workspace-folder.ts';
import type { WorkspaceFolder } from '../home/home.ts';

/** Looks for a marker. Its content does not matter; a folder with its name or an unreadable path is a problem. */
export function findMarker(
  path: string,
  name: string,
  roots: readonly string[],
): { readonly isThere: boolean; readonly problem: string | null } {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found !== undefined && !isWithin(path, roots))
      return { isThere: false, problem: `${name} is outside of the workspace: a link leads there` };
    if (found === undefined) return { isThere: false, problem: null };
    return found.isDirectory()
      ? { isThere: false, problem: `${name} is a directory` }
      : { isThere: true, problem: null };
  } catch (error) {
    return {
      isThere: false,
      problem: `stat ${name}: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
}

/** Moves rejected markers to the workspace folder, where a person can read them and they are no part of the work. */
export function moveAside(
  workspaceFolder: WorkspaceFolder,
  markers: readonly string[],
  roots: readonly string[],
): void {
  for (const name of markers) {
    const path = workspaceFolder.marker(name);
    if (!existsSync(path) || !isWithin(path, roots)) continue;
    const aside = join(workspaceFolder.path, `${basename(path)}.rejected-`);
    let number = 1;
    while (existsSync(`${aside}${number}`)) number++;
    move(path, `${aside}${number}`);
  }
}

/** Whether the folder of a file is in one of these, whatever links the agent has put on the way. */
function isWithin(path: string, roots: readonly string[]): boolean {
  const place = join(realPath(dirname(path)), basename(path));
  return roots.some((root) => isInside(realPath(root), place));
}

function move(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    // A worktree may be on another file system.
    if (!(error instanceof Error) || !('code' in error) || error.code !== 'EXDEV') throw error;
    cpSync(from, to);
    rmSync(from);
  }
}

/**
 * Takes the markers of the earlier loop over from its archived workspace folder, if the policy says that they claim: the task was done
 * before. Returns their names.
 */
export function takeOverMarkers(
  workspaceFolder: WorkspaceFolder,
  archived: string,
  { completion }: Policy,
): readonly string[] {
  if (completion.staleMarkers !== 'claim') return [];
  const names = completion.detectors.flatMap((detector) =>
    detector.kind === 'marker' && basename(detector.file) === detector.file ? [detector.file] : [],
  );
  return below(workspaceFolder.workspace, archived.split('/'), { make: false }, (from) => {
    const found = names.filter((name) => isTaken(join(from, name)));
    if (found.length > 0)
      inWorkspaceFolder(workspaceFolder, workspaceFolder.path, (to) => {
        for (const name of found) renameSync(join(from, name), join(to, name));
      });
    return found;
  });
}

/** Moves markers aside that existed before the loop began, if the policy says so. */
export function moveStaleMarkers(
  workspaceFolder: WorkspaceFolder,
  { completion }: Policy,
  roots: readonly string[],
): void {
  if (completion.staleMarkers !== 'move-aside') return;
  moveAside(
    workspaceFolder,
    completion.detectors.flatMap((detector) => (detector.kind === 'marker' ? [detector.file] : [])),
    roots,
  );
}
