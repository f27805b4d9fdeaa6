/**
 * Loops of an earlier version, whose state was in the workspace: each is moved out of it, once.
 *
 * 1. Only a loop that the registry of that version names is moved, with its id and its folder: a folder that came with a
 *    clone or a copy stays a stranger's.
 * 2. A loop that has an owner, or a process, stays until that has ended.
 * 3. A move that was interrupted is repeated: the old files are removed last.
 */
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { namesIn, PRIVATE_FILE, PRIVATE_FOLDER } from '../files/files.ts';
import { makeFolders } from '../files/make-folders.ts';
import { readJsonFile } from '../files/read-json.ts';
import { processes } from '../process/process.ts';
import { lockDesk } from './desk.ts';
import { problemWithName } from './names.ts';
import { registeredAs, reserve } from './registry.ts';
import { runMarker } from './run-environment.ts';
import { readSpec } from './spec.ts';
import { jsonFilesIn, removeQuietly } from './state-folder.ts';
import { LoopFolder, loopsFolder, type LoopKey } from './store.ts';

/** Moves the loops of an earlier version that can be moved now. */
export async function moveOldLoops(): Promise<void> {
  const changed = changedAt(loopsFolder());
  if (changed === withoutOldLoops) return;
  const found = oldLoops();
  for (const { file, key } of found) {
    // oxlint-disable-next-line no-await-in-loop -- rare, and each takes a lock
    if (await tryToMove(new LoopFolder(key))) removeQuietly(file);
  }
  if (found.length === 0) withoutOldLoops = changed;
}

/** How the folder of the loops was when it had none of an earlier version: a process may take over a thousand loops. */
let withoutOldLoops: string | null = null;

function changedAt(folder: string): string {
  return `${folder} ${statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0}`;
}

/** The loops of an earlier version, as its registry names them. */
export function oldLoops(): readonly { readonly file: string; readonly key: LoopKey }[] {
  return jsonFilesIn(loopsFolder()).flatMap((name) => {
    const file = join(loopsFolder(), name);
    const key = readOldEntry(file);
    return key === null || `${key.id}.json` !== name ? [] : [{ file, key }];
  });
}

function readOldEntry(file: string): LoopKey | null {
  const value = readJsonFile(file);
  if (typeof value !== 'object' || value === null) return null;
  const { id, name, workspace, folder } = value as Partial<
    Record<'id' | 'name' | 'workspace' | 'folder', unknown>
  >;
  if (typeof id !== 'string' || typeof name !== 'string' || typeof workspace !== 'string') return null;
  // A copied loop of that version may have the id of the name that it had first.
  if (problemWithName(name) !== null || !/^[A-Za-z0-9][A-Za-z0-9._-]*-[0-9a-f]{8}$/.test(id)) return null;
  const key = { id, name, workspace };
  return new LoopFolder(key).desk.path === folder ? key : null;
}

async function tryToMove(folder: LoopFolder): Promise<boolean> {
  const { desk, id, name, workspace } = folder;
  const known = registeredAs(workspace, name);
  if (known !== null && known.id !== id) return false;
  // Everything was moved already.
  if (!isThere(folder)) return known !== null;
  let release;
  try {
    release = await lockDesk(desk);
  } catch {
    return false;
  }
  try {
    const spec = readSpec(join(desk.path, 'spec.json'));
    if (spec.id !== id || spec.name !== name) return false;
    if ((await processes.markedByPrefix(runMarker(spec, ''))).length > 0) return false;
    // A process that was killed while it moved the loop has left only the removal to do.
    if (known === null) {
      copyState(desk.path, folder.path);
      if (!reserve(folder)) return false;
    }
    removeState(desk.path);
    return true;
  } catch {
    return false;
  } finally {
    release();
  }
}

/** Whether the folder is where the registry says, and no link leads there. */
function isThere({ desk }: LoopFolder): boolean {
  try {
    return realpathSync(desk.path) === desk.path && existsSync(join(desk.path, 'journal.jsonl'));
  } catch {
    return false;
  }
}

/** Copies what Ralph believes; the folder appears complete. */
function copyState(from: string, to: string): void {
  const scratch = `${to}.moving`;
  rmSync(scratch, { recursive: true, force: true });
  makeFolders(scratch, PRIVATE_FOLDER);
  for (const name of STATE.filter((one) => existsSync(join(from, one)))) {
    cpSync(join(from, name), join(scratch, name), { recursive: true, filter: isPlain });
  }
  makePrivate(scratch);
  rmSync(to, { recursive: true, force: true });
  renameSync(scratch, to);
}

function isPlain(path: string): boolean {
  const found = lstatSync(path);
  return found.isFile() || found.isDirectory();
}

/** Exact copies of a rewind keep their modes, which are a part of what they restore. */
function makePrivate(folder: string): void {
  chmodSync(folder, PRIVATE_FOLDER);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.name === 'rewinds') chmodSync(path, PRIVATE_FOLDER);
    else if (entry.isDirectory()) makePrivate(path);
    else chmodSync(path, PRIVATE_FILE);
  }
}

/** Removes from the desk what is in the state now; logs of checks stay, as copies. */
function removeState(desk: string): void {
  for (const name of STATE.filter((one) => one !== 'runs')) {
    rmSync(join(desk, name), { recursive: true, force: true });
  }
  const runs = join(desk, 'runs');
  for (const run of namesIn(runs)) {
    for (const name of OF_RUN) rmSync(join(runs, run, name), { recursive: true, force: true });
  }
}

const STATE = [
  'spec.json',
  'snapshot.json',
  'inbox',
  'children',
  'setup',
  'merge',
  'rewinds',
  'baseline',
  'runs',
  'owner.log',
  'earlier-progress.md',
  // Last: without a journal there is no loop, and with it an interrupted removal is repeated.
  'journal.jsonl',
];
const OF_RUN = ['prompt.md', 'stdout.log', 'stderr.log', 'started', 'exit', 'receipt.json', 'scm'];
