/**
 * Folders in `.ralph/loops` that are no loop of this user: they came with a clone or a copy, were left by another user, or
 * belong to a workspace that was moved. They are mentioned and never used.
 */
import { existsSync, lstatSync } from 'node:fs';
import { join } from 'node:path';
import { isTaken, textOf } from '../files/files.ts';
import { shellQuote } from '../loop/shell-quote.ts';
import { workspaceFoldersIn } from './find-workspace.ts';
import { registered, registeredAs } from './registry.ts';
import type { LoopKey } from './home.ts';

export interface Stranger {
  readonly name: string;
  /** The workspace that this one seems to have been before it was moved; null for any other stranger. */
  readonly movedFrom: string | null;
}

export function strangersIn(workspace: string): readonly Stranger[] {
  const folder = join(workspace, '.ralph', 'loops');
  const names = workspaceFoldersIn(workspace)
    .filter((name) => registeredAs(workspace, name) === null)
    .filter((name) => hasLoopFiles(join(folder, name)));
  if (names.length === 0) return [];
  const known = registered();
  return names.map((name) => ({
    name,
    movedFrom: formerWorkspace(join(folder, name, 'state.json'), known),
  }));
}

/** Whether a folder in `.ralph/loops` has files that Ralph writes for a loop; agents and people may put others there. */
export function hasLoopFiles(workspaceFolder: string): boolean {
  // A file has none, and a look below it is an error.
  if (lstatSync(workspaceFolder, { throwIfNoEntry: false })?.isDirectory() !== true) return false;
  return FILES.some((file) => isTaken(join(workspaceFolder, file)));
}

const FILES = ['state.json', 'iterations.log', 'progress.md'];

/** The file is only a hint: the registry has to know the id, and the folder that it names has to be gone. */
function formerWorkspace(stateFile: string, known: readonly LoopKey[]): string | null {
  const [, id] = /"id": "([A-Za-z0-9._-]{1,100})"/.exec(textOf(stateFile, MAX_BYTES) ?? '') ?? [];
  const loop = id === undefined ? undefined : known.find((key) => key.id === id);
  return loop === undefined || existsSync(loop.workspace) ? null : loop.workspace;
}

const MAX_BYTES = 1024 * 1024;

/** The command that takes the loops of a moved workspace along. */
function moveCommand(from: string): string {
  return `ralph move ${shellQuote(from)}`;
}

/** Why a stranger is not used, and what to do about it. */
export function describeStranger({ name, movedFrom }: Stranger): string {
  return movedFrom === null
    ? `.ralph/loops/${name} is not one of your loops (it came with a copy or a clone, or belongs to another user or another RALPH_STATE) and is ignored`
    : `"${name}" belongs to ${movedFrom}, which is gone; if this workspace was moved from there, take its loops along with: ${moveCommand(movedFrom)}`;
}
