/**
 * Claims the name of a new loop: a generated one, or the requested one after archiving the earlier loop that has it.
 *
 * 1. The state of the new loop exists and is locked before its name is reserved (`home/registry.ts`), and says what was asked
 *    for: an owner that dies after that leaves a loop that can be started.
 * 2. An earlier loop of the name is archived only under its own lock, so that two processes cannot both replace it.
 * 3. The entry of a name also has the request that started the loop, so that of two processes that carry out one request, one starts
 *    its loop. A request is the same as long as its loop has the name.
 * 4. What another loop has left in the workspace folder belongs to no new loop: it is moved to `.ralph/archive`.
 */
import { hash, randomUUID } from 'node:crypto';
import { existsSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isTaken, PRIVATE_FOLDER, makeFolders } from '../files/files.ts';
import { endLeftovers } from './recovery.ts';
import { orphanOf } from '../home/orphan.ts';
import { putRecordsAside } from '../workspace/start.ts';
import {
  archiveWorkspaceFolder,
  lockWorkspaceFolder,
  removeWorkspaceFolder,
} from '../workspace/workspace-folder.ts';
import { dismiss } from '../home/background.ts';
import { forgetEnvironment } from '../home/saved-environment.ts';
import { takeLock } from '../home/lock.ts';
import { thisProcess } from '../home/lock-owner.ts';
import { nameFrom, problemWithName } from '../loop/names.ts';
import { liveOwner, readLoopAt, type LoopReading } from '../home/read-loop.ts';
import { registeredAs, registeredIn, reserve, unreserve } from '../home/registry.ts';
import { hasLoopFiles } from '../home/strangers.ts';
import { archiveFolder, WorkspaceFolder, LoopFolder, type LoopKey } from '../home/home.ts';
import { unwritable } from '../home/state-folder.ts';
import { UserError } from '../user-error.ts';
import { refuseOccupiedPlace } from '../workspace/occupied-place.ts';
import { freePlace, placeFor, refuseToStrand } from '../workspace/worktree-place.ts';
import type { LoopRequest } from './create-loop.ts';
import { takeOverMarkers } from './markers.ts';
import { AlreadyOwned, AlreadyStarted, asUserError, NameTaken } from './refusals.ts';

export interface NameRequest extends LoopRequest {
  /** Notes in the state of the new loop what was asked for. */
  readonly note: (folder: LoopFolder) => void;
}

export interface ClaimedName {
  readonly name: string;
  /** New and locked by this process, as its workspace folder is. */
  readonly folder: LoopFolder;
  readonly release: () => void;
  /** Gives the name back; nothing of the loop is left. */
  readonly discard: () => void;
  /** The progress file of the loop that had the name before, where its work was not done. */
  readonly earlierProgress: string | null;
}

/** Throws if the request was sent before, and one of these loops is its loop; by default one of all loops of the workspace. */
export function refuseSecond(
  { id, workspace }: Pick<NameRequest, 'id' | 'workspace'>,
  loops?: readonly (LoopKey | null)[],
): void {
  if (id === undefined) return;
  const started = (loops ?? registeredIn(workspace)).find((one) => one?.request === digest(id)) ?? null;
  if (started !== null) throw new AlreadyStarted(started);
}

function digest(id: string): string {
  return hash('sha256', id).slice(0, 32);
}

/** Takes the name of a new loop and locks it; `notes` gets what happened to an earlier loop of that name. */
export function claimName(request: NameRequest, notes: string[]): Promise<ClaimedName> {
  return request.name === null ? inventName(request, notes) : takeName(request, request.name, notes);
}

async function inventName(request: NameRequest, notes: string[]): Promise<ClaimedName> {
  for (let number = 1; ; number++) {
    const name = numbered(request, number);
    // oxlint-disable-next-line no-await-in-loop -- the name is free: the first try succeeds
    const claimed = isFree(name, request) ? await tryName(newKey(name, request), request, notes) : null;
    if (claimed !== null) return { ...claimed, earlierProgress: null };
    refuseSecond(request, [registeredAs(request.workspace, name)]);
  }
}

/** A name made from the prompt. */
function numbered({ prompt }: Pick<LoopRequest, 'prompt'>, number: number): string {
  const words = 'text' in prompt ? prompt.text : (prompt.file.split('/').at(-1) ?? '').replace(/\.\w+$/, '');
  return `${nameFrom(words)}-${number}`;
}

function isFree(name: string, { workspace }: Pick<LoopRequest, 'workspace'>): boolean {
  return !isTaken(new WorkspaceFolder(workspace, name).path) && registeredAs(workspace, name) === null;
}

/** The key that a loop would get now. Throws if its name cannot be had; claims nothing. */
export function keyFor(request: LoopRequest): LoopKey {
  const { name, workspace, fresh } = request;
  if (name === null) {
    let number = 1;
    while (!isFree(numbered(request, number), request)) number++;
    return newKey(numbered(request, number), request);
  }
  refuseBadName(name);
  const earlier = registeredAs(workspace, name);
  const reading = earlier === null ? null : readLoopAt(new LoopFolder(earlier));
  if (reading !== null && reading.owner !== null) throw new AlreadyOwned(name, reading.owner);
  if (reading !== null) refuseUnfinished(reading, fresh);
  return newKey(name, request);
}

function refuseBadName(name: string): void {
  const problem = problemWithName(name);
  if (problem !== null) throw new UserError(`bad name ${JSON.stringify(name)}: ${problem}`);
}

function newKey(name: string, { id: request, workspace, task }: LoopRequest): LoopKey {
  const id = `${name}-${randomUUID().slice(0, 8)}`;
  return { id, name, workspace, task, request: request === undefined ? request : digest(request) };
}

/** Reserves a name and its workspace folder; null if another loop has it by now. */
async function tryName(
  key: LoopKey,
  { note }: NameRequest,
  notes: string[],
): Promise<Omit<ClaimedName, 'earlierProgress'> | null> {
  const folder = new LoopFolder(key);
  const lock = await lockNewState(folder);
  if (!isReserved(key, folder, note)) {
    forgetEnvironment(key.id);
    lock();
    rmSync(folder.path, { recursive: true, force: true });
    return null;
  }
  let workspaceFolder: (() => void) | null = null;
  const release = (): void => {
    workspaceFolder?.();
    lock();
  };
  const discard = (): void => {
    if (workspaceFolder !== null) removeWorkspaceFolder(folder.workspaceFolder);
    unreserve(key);
    forgetEnvironment(key.id);
    rmSync(folder.path, { recursive: true, force: true });
    release();
  };
  try {
    workspaceFolder = await takeWorkspaceFolder(folder.workspaceFolder, notes);
    return { name: key.name, folder, release, discard };
  } catch (error) {
    discard();
    throw asUserError(error, folder.workspaceFolder.path);
  }
}

function isReserved(key: LoopKey, folder: LoopFolder, note: NameRequest['note']): boolean {
  try {
    note(folder);
    return reserve(key);
  } catch (error) {
    throw unwritable(error, folder.path);
  }
}

async function lockNewState(folder: LoopFolder): Promise<() => void> {
  try {
    makeFolders(folder.path, PRIVATE_FOLDER);
    const lock = await takeLock(folder.lock, thisProcess());
    if (lock.taken) return lock.release;
  } catch (error) {
    throw unwritable(error, folder.path);
  }
  throw new AlreadyOwned(folder.name, null);
}

/** Takes the workspace folder of a new loop, after moving away the workspace folder of another one. Marker files alone stay: they are for this loop. */
async function takeWorkspaceFolder(workspaceFolder: WorkspaceFolder, notes: string[]): Promise<() => void> {
  const release = await lockWorkspaceFolder(workspaceFolder);
  if (!hasLoopFiles(workspaceFolder.path)) return release;
  const archived = archiveWorkspaceFolder(workspaceFolder);
  notes.push(`moved ${join(...workspaceFolder.parts)}, which was not a loop of yours, to ${archived ?? ''}`);
  release();
  return lockWorkspaceFolder(workspaceFolder);
}

async function takeName(request: NameRequest, name: string, notes: string[]): Promise<ClaimedName> {
  refuseBadName(name);
  let earlierProgress: string | null = null;
  for (;;) {
    const earlier = registeredAs(request.workspace, name);
    if (earlier !== null) {
      refuseSecond(request, [earlier]);
      // oxlint-disable-next-line no-await-in-loop -- repeats only after an earlier loop was archived
      earlierProgress = (await replaceEarlier(request, new LoopFolder(earlier), notes)) ?? earlierProgress;
      continue;
    }
    // oxlint-disable-next-line no-await-in-loop -- as above
    const claimed = await tryName(newKey(name, request), request, notes);
    if (claimed !== null) return { ...claimed, earlierProgress };
  }
}

/** Archives the loop that has the name and frees the name; its progress file where its work was not done. */
async function replaceEarlier(
  request: NameRequest,
  folder: LoopFolder,
  notes: string[],
): Promise<string | null> {
  const { name } = folder;
  const owner = existsSync(folder.journal) ? liveOwner(folder) : null;
  if (owner !== null) throw new AlreadyOwned(name, owner);
  const lock = await takeLock(folder.lock, thisProcess());
  if (!lock.taken) throw new AlreadyOwned(name, lock.owner?.pid ?? null);
  try {
    // Another process may have replaced it meanwhile.
    if (registeredAs(request.workspace, name)?.id !== folder.id) return null;
    return await archiveEarlier(request, folder, notes);
  } finally {
    lock.release();
  }
}

async function archiveEarlier(
  request: NameRequest,
  folder: LoopFolder,
  notes: string[],
): Promise<string | null> {
  const earlier = readLoopAt(folder, { isLocked: true });
  if (earlier !== null) {
    refuseUnfinished(earlier, request.fresh);
    await endEarlier(earlier, request, notes);
  }
  const release = await lockWorkspaceFolder(folder.workspaceFolder);
  try {
    return archive(folder, earlier, request, notes);
  } finally {
    release();
    if (earlier !== null) await putRecordsAside(earlier.spec, request.workspace);
  }
}

/** Moves state and workspace folder to the archives; a crash in between is completed by the next loop of the name. */
function archive(
  folder: LoopFolder,
  earlier: LoopReading | null,
  { fresh, policy }: NameRequest,
  notes: string[],
): string | null {
  const workspaceFolder = archiveWorkspaceFolder(folder.workspaceFolder);
  const archived = join(archiveFolder(), folder.id);
  // Without a run, a process died while it created the loop.
  const isEmpty = earlier === null && !existsSync(join(folder.path, 'runs'));
  if (isEmpty) rmSync(folder.path, { recursive: true, force: true });
  else {
    makeFolders(archiveFolder(), PRIVATE_FOLDER);
    renameSync(folder.path, archived);
    notes.push(`archived the earlier loop "${folder.name}": ${workspaceFolder ?? archived}`);
  }
  const kept =
    workspaceFolder === null || fresh ? [] : takeOverMarkers(folder.workspaceFolder, workspaceFolder, policy);
  if (kept.length > 0)
    notes.push(
      `${kept.join()} of the earlier loop still says that the task is done; to work on it again, remove ${folder.workspaceFolder.marker(kept[0] ?? '')}, or use --fresh`,
    );
  forgetEnvironment(folder.id);
  dismiss(folder.id);
  unreserve(folder);
  const isUnfinished = !fresh && earlier !== null && earlier.state.outcome?.type !== 'done';
  return isUnfinished && workspaceFolder !== null
    ? join(folder.workspace, workspaceFolder, basename(folder.workspaceFolder.progressFile))
    : null;
}

function refuseUnfinished(earlier: LoopReading, fresh: boolean): void {
  const { folder, state, trouble } = earlier;
  const { name } = folder;
  if (fresh) return;
  if (trouble !== null) throw new UserError(`${trouble}, or archive it and start over with: --fresh`);
  if (state.outcome !== null) return;
  const agent = orphanOf(earlier);
  const what = state.control.paused ? 'is paused' : 'is not finished';
  const orphan = agent === null ? '' : `, and its agent (process ${agent}) still works on these files`;
  throw new NameTaken(
    `the loop "${name}" ${what}${orphan}; continue it with: ralph resume ${name}, or start over with: --fresh`,
  );
}

/** Ends everything that still runs of a loop, and frees the place of its worktree where the new loop needs it. */
async function endEarlier(earlier: LoopReading, request: NameRequest, notes: string[]): Promise<void> {
  const { policy, env, workspace, worktreeAt } = request;
  const { name } = earlier.spec;
  const place = request.worktree === true ? await placeFor(policy, name, workspace, env, worktreeAt) : null;
  await refuseToStrand(earlier, place, env);
  if (place !== null) await refuseOccupiedPlace(place, earlier);
  await endLeftovers(earlier);
  if (place !== null) await freePlace(place, earlier, notes);
}
