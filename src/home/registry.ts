/**
 * The registry: which loops this user has, and where. Nothing in a workspace says that a loop exists.
 *
 * 1. `registry/<hash of the workspace>/<name>` reserves a name in a workspace. It is created exclusively: of two processes
 *    that want the same name, one gets it.
 * 2. The state of a new loop exists and is locked before its entry does, so that an entry whose state is not locked belongs to
 *    a loop that no process owns.
 */
import { hash } from 'node:crypto';
import { rmSync, rmdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { namesIn, PRIVATE_FILE, PRIVATE_FOLDER, makeFolders, readJsonFile } from '../files/files.ts';
import { createFile } from '../files/replace-file.ts';
import { fields, fits, optional, shortText, type Rule } from '../loop/shape.ts';
import { absolutePath, loopId, loopNameRule, taskIds } from './spec.ts';
import { problemWithName } from '../loop/names.ts';
import { stateFolder } from './state-folder.ts';
import type { LoopKey } from './home.ts';

/** Reserves the name of a loop in its workspace; false if another loop has it. */
export function reserve(loop: LoopKey, state: string = stateFolder()): boolean {
  const path = entryOf(loop.workspace, loop.name, state);
  makeFolders(dirname(path), PRIVATE_FOLDER);
  const { id, name, workspace, task, request } = loop;
  const entry = JSON.stringify({ id, name, workspace, task, request });
  return createFile(path, `${entry}\n`, { mode: PRIVATE_FILE });
}

/** Frees the name of a loop, unless another loop has it by now. */
export function unreserve(loop: LoopKey, state: string = stateFolder()): void {
  const path = entryOf(loop.workspace, loop.name, state);
  if (registeredAs(loop.workspace, loop.name, state)?.id !== loop.id) return;
  rmSync(path, { force: true });
  try {
    rmdirSync(dirname(path));
  } catch {
    // The workspace has other loops.
  }
}

/** The loop that has a name in a workspace. */
export function registeredAs(workspace: string, name: string, state: string = stateFolder()): LoopKey | null {
  return problemWithName(name) === null ? readEntry(entryOf(workspace, name, state)) : null;
}

/** The loops of a workspace, by name. */
export function registeredIn(workspace: string, state: string = stateFolder()): readonly LoopKey[] {
  return entriesIn(registryFolder(workspace, state));
}

/** The loops of all workspaces of this user, by workspace and name. */
export function registered(state: string = stateFolder()): readonly LoopKey[] {
  return namesIn(join(state, 'registry'))
    .flatMap((workspace) => entriesIn(join(state, 'registry', workspace)))
    .toSorted((a, b) => a.workspace.localeCompare(b.workspace) || a.name.localeCompare(b.name));
}

/** The folder with the entries of a workspace. */
export function registryFolder(workspace: string, state: string = stateFolder()): string {
  return join(state, 'registry', hashOf(workspace));
}

function entryOf(workspace: string, name: string, state: string): string {
  return join(registryFolder(workspace, state), name);
}

function hashOf(workspace: string): string {
  return hash('sha256', workspace).slice(0, 32);
}

function entriesIn(folder: string): readonly LoopKey[] {
  return namesIn(folder).flatMap((name) => readEntry(join(folder, name)) ?? []);
}

/** An entry counts only under its own name and in the folder of its own workspace. */
function readEntry(path: string): LoopKey | null {
  const value = readJsonFile(path, MAX_ENTRY_BYTES);
  if (!isKey(value) || entryOf(value.workspace, value.name, join(path, '..', '..', '..')) !== path)
    return null;
  const { id, name, workspace, task, request } = value;
  return { id, name, workspace, task, request };
}

const MAX_ENTRY_BYTES = 64 * 1024;

function isKey(value: unknown): value is LoopKey {
  return fits(KEY, value);
}

const KEY = fields({
  id: loopId,
  name: loopNameRule,
  workspace: absolutePath,
  task: optional(taskIds),
  request: optional(shortText(100)),
} satisfies Record<keyof LoopKey, Rule>);
