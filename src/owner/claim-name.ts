/** Claims the name of a new loop: a generated one, or the requested one after archiving the earlier loop that has it. */
import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import type { Policy } from '../loop/policy.ts';
import { endLeftovers } from '../recovery/recovery.ts';
import { orphanOf } from '../recovery/orphan.ts';
import { putRecordsAside } from '../scm/start.ts';
import { forget } from '../store/kept-environment.ts';
import { takeLock } from '../store/lock.ts';
import { thisProcess } from '../store/lock-owner.ts';
import { nameFrom, problemWithName } from '../store/names.ts';
import { liveOwner, readLoopAt, type LoopReading } from '../store/read-loop.ts';
import type { PromptSource } from '../store/spec.ts';
import { archiveFolder, loopFolder, LoopFolder } from '../store/store.ts';
import { UserError } from '../user-error.ts';
import { refuseOccupiedPlace } from '../worktree/occupied-place.ts';
import { freePlace, placeFor, refuseToStrand } from '../worktree/place.ts';
import { alreadyOwned, asUserError } from './refusals.ts';

export interface NameRequest {
  readonly workspace: string;
  readonly name: string | null;
  readonly prompt: PromptSource;
  readonly policy: Policy;
  readonly env: Readonly<Record<string, string>>;
  readonly worktree?: boolean;
  readonly fresh: boolean;
}

export interface ClaimedName {
  readonly name: string;
  /** New and locked by this process. */
  readonly folder: LoopFolder;
  readonly release: () => void;
  /** The archived folder of the loop that had the name before, where its work was not done. */
  readonly unfinished: LoopFolder | null;
}

/** Takes the name of a new loop and locks its folder; `notes` gets what happened to an earlier loop of that name. */
export function claimName(request: NameRequest, notes: string[]): Promise<ClaimedName> {
  return request.name === null ? inventName(request) : takeName(request, request.name, notes);
}

async function inventName({ workspace, prompt }: NameRequest): Promise<ClaimedName> {
  const words = 'text' in prompt ? prompt.text : (prompt.file.split('/').at(-1) ?? '').replace(/\.\w+$/, '');
  const stem = nameFrom(words);
  for (let number = 1; ; number++) {
    const name = `${stem}-${number}`;
    const folder = loopFolder(workspace, name);
    if (!makeFolder(folder)) continue;
    // oxlint-disable-next-line no-await-in-loop -- the folder is new: the first try succeeds
    const lock = await takeLock(folder.lock, thisProcess());
    if (lock.taken) return { name, folder, release: lock.release, unfinished: null };
  }
}

/** Makes a folder; false where it exists. */
function makeFolder(folder: LoopFolder): boolean {
  try {
    mkdirSync(folder.path);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw asUserError(error, folder.path);
  }
}

async function takeName(request: NameRequest, name: string, notes: string[]): Promise<ClaimedName> {
  const problem = problemWithName(name);
  if (problem !== null) throw new UserError(`bad name ${JSON.stringify(name)}: ${problem}`);
  const folder = loopFolder(request.workspace, name);
  let unfinished: LoopFolder | null = null;
  for (;;) {
    const owner = existsSync(folder.journal) ? liveOwner(folder) : null;
    if (owner !== null) throw alreadyOwned(name, owner);
    // oxlint-disable-next-line no-await-in-loop -- repeats only after an earlier loop was archived
    const lock = await takeLock(folder.lock, thisProcess());
    if (!lock.taken) throw alreadyOwned(name, lock.owner?.pid ?? null);
    try {
      if (isFree(folder)) return { name, folder, release: lock.release, unfinished };
      // oxlint-disable-next-line no-await-in-loop -- as above
      unfinished = (await archiveEarlier(request, folder, notes)) ?? unfinished;
    } catch (error) {
      lock.release();
      throw error;
    }
    lock.release();
  }
}

function isFree(folder: LoopFolder): boolean {
  return !existsSync(folder.journal) && !existsSync(join(folder.path, 'runs'));
}

/** Archives the loop that has the name; its archived folder where its work was not done. */
async function archiveEarlier(
  request: NameRequest,
  folder: LoopFolder,
  notes: string[],
): Promise<LoopFolder | null> {
  const { workspace } = request;
  const earlier = readLoopAt(folder);
  // The remains of a loop must not be taken for a part of the new one.
  if (earlier === null) {
    archive(workspace, folder);
    return null;
  }
  refuseUnfinished(earlier, request.fresh);
  await endEarlier(earlier, request, notes);
  const archived = archive(workspace, folder);
  notes.push(`archived the earlier loop "${folder.name}": ${archived}`);
  forget(earlier.spec.id);
  await putRecordsAside(earlier.spec, workspace);
  const isUnfinished = !request.fresh && earlier.state.outcome?.type !== 'done';
  return isUnfinished ? new LoopFolder(resolve(workspace, archived)) : null;
}

function refuseUnfinished(earlier: LoopReading, fresh: boolean): void {
  const { folder, state, trouble } = earlier;
  const { name } = folder;
  if (fresh) return;
  if (trouble !== null) throw new UserError(`${trouble}; archive it and start over with: --fresh`);
  if (state.outcome !== null) return;
  // This process holds the lock now, so the loop has no other owner.
  const agent = orphanOf({ ...earlier, owner: null });
  const what = state.control.paused ? 'is paused' : 'is not finished';
  const orphan = agent === null ? '' : `, and its agent (process ${agent}) still works on these files`;
  throw new UserError(
    `the loop "${name}" ${what}${orphan}; continue it with: ralph resume ${name}, or start over with: --fresh`,
  );
}

/** Ends everything that still runs of a loop, and frees the place of its worktree where the new loop needs it. */
async function endEarlier(earlier: LoopReading, request: NameRequest, notes: string[]): Promise<void> {
  const { policy, env, workspace } = request;
  const place = request.worktree === true ? await placeFor(policy, earlier.spec.name, workspace, env) : null;
  await refuseToStrand(earlier, place, env);
  if (place !== null) await refuseOccupiedPlace(place, earlier);
  await endLeftovers(earlier);
  if (place !== null) await freePlace(place, earlier, notes);
}

/** Moves the folder of a loop into the archive and returns its new path, relative to the workspace. */
function archive(workspace: string, { path, name }: LoopFolder): string {
  const folder = archiveFolder(workspace);
  mkdirSync(folder, { recursive: true });
  let number = 1;
  while (existsSync(join(folder, `${name}-${number}`))) number++;
  renameSync(path, join(folder, `${name}-${number}`));
  return relative(workspace, join(folder, `${name}-${number}`));
}
