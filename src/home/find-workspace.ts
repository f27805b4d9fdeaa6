/**
 * In which workspace a command looks for a loop, or for the loops that it lists.
 *
 * 1. The nearest one counts: the folder where the command runs, or a folder above it.
 * 2. The search ends at the top of the nearest repository, so that it finds no loop of an outer one. A submodule and a worktree are
 *    repositories of their own. Outside of a repository it ends at the root of the file system.
 * 3. Only the registry of this user makes a loop. The search also ends where a workspace folder lies that belongs to none, as in a copy of a
 *    workspace: the answer then says what that is, and the command does not take the loop of another workspace for it.
 */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { namesIn } from '../files/files.ts';
import { registeredAs, registryFolder } from './registry.ts';
import { stateFolder } from './state-folder.ts';
import type { LoopKey } from './home.ts';

/** The nearest workspace that has a loop of this name; else the one whose loops are listed. `from` is a real path. */
export function workspaceWith(from: string, name: string, state: string = stateFolder()): string {
  const hasIt = (folder: string): boolean =>
    registeredAs(folder, name, state) !== null || workspaceFoldersIn(folder).includes(name);
  return nearest(from, hasIt) ?? workspaceAt(from, state);
}

/** The nearest workspace with loops; else `from`, a real path. */
export function workspaceAt(from: string, state: string = stateFolder()): string {
  return nearest(from, (folder) => hasLoops(folder, state)) ?? from;
}

/** Where the workspace of these loops is after it was moved: the nearest folder with a workspace folder of theirs; else `from`, a real path. */
export function workspaceMovedTo(
  from: string,
  loops: readonly LoopKey[],
  state: string = stateFolder(),
): string {
  const isTheirs = (folder: string, workspaceFolders: readonly string[]): boolean =>
    loops.some(
      ({ id, name }) =>
        workspaceFolders.includes(name) && (registeredAs(folder, name, state)?.id ?? id) === id,
    );
  return nearest(from, (folder) => isTheirs(folder, workspaceFoldersIn(folder))) ?? from;
}

function nearest(from: string, isWanted: (folder: string) => boolean): string | null {
  for (let folder = from; ; folder = dirname(folder)) {
    if (isWanted(folder)) return folder;
    if (existsSync(join(folder, '.git')) || dirname(folder) === folder) return null;
  }
}

function hasLoops(workspace: string, state: string): boolean {
  return namesIn(registryFolder(workspace, state)).length > 0 || workspaceFoldersIn(workspace).length > 0;
}

/** The names in `.ralph/loops` of a workspace, which may be workspace folders of loops or anything else. */
export function workspaceFoldersIn(workspace: string): readonly string[] {
  return namesIn(join(workspace, '.ralph', 'loops'));
}
