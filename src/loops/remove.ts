import { existsSync, rmSync } from 'node:fs';
import { dismiss } from '../home/background.ts';
import { takeLock } from '../home/lock.ts';
import { lockWorkspaceFolder, removeWorkspaceFolder } from '../workspace/workspace-folder.ts';
import { refuseRemoval } from '../home/family.ts';
import { registered, unreserve } from '../home/registry.ts';
import { forgetEnvironment } from '../home/saved-environment.ts';
import { UserError } from '../user-error.ts';
import { unlinkAliases, unlinkProgress } from '../workspace/aliases.ts';
import { orphanOf } from '../home/orphan.ts';
import { endLeftovers } from '../owner/recovery.ts';
import { type LoopReading, readAllLoops, readLoopAt } from '../home/read-loop.ts';
import { LoopFolder, WorkspaceFolder } from '../home/home.ts';
import { forgetRecords, spaceOfRecords } from '../workspace/start.ts';
import { startersEnvironment } from '../home/run-environment.ts';
import { thisProcess } from '../home/lock-owner.ts';
import { closeWindow } from './window.ts';
import { hasTree } from '../workspace/worktree.ts';
import { refOf } from './find.ts';
import type { LoopRef } from './loops.ts';

export interface Removed {
  /** The pid of the agent that had to be stopped, if any. */
  readonly agent: number | null;
  /** How many bytes `git gc` will free because the loop has no records any more. */
  readonly bytesForGc: number;
}

/** Removes a loop that is not running. */
export async function removeLoop(loop: LoopReading): Promise<Removed> {
  const { folder, spec } = loop;
  if (await hasTree(spec, startersEnvironment(process.env))) {
    throw new UserError(
      `"${spec.name}" still has its worktree ${spec.worktree?.path ?? ''}; remove it first: ralph worktree rm ${spec.name}`,
    );
  }
  refuseRemoval(spec);
  const lock = await takeLock(folder.lock, thisProcess());
  if (!lock.taken) {
    throw new UserError(
      `the loop "${spec.name}" is running (process ${lock.owner?.pid ?? 'unknown'}); stop it first with: ralph stop ${spec.name} --now`,
    );
  }
  try {
    const now = readLoopAt(folder) ?? loop;
    // This process holds the lock now, so the loop has no other owner.
    const agent = orphanOf({ ...now, owner: null });
    await endLeftovers(now);
    let bytesForGc = 0;
    if (existsSync(folder.workspace)) {
      await removeFromWorkspace(folder);
      bytesForGc = await spaceOfRecords(folder, folder.workspace);
      await forgetRecords(folder, folder.workspace);
    }
    await closeWindow(spec);
    forgetEnvironment(folder.id);
    dismiss(folder.id);
    rmSync(folder.path, { recursive: true, force: true });
    // Last, so that a removal that was killed can be repeated.
    unreserve(folder);
    return { agent, bytesForGc };
  } finally {
    lock.release();
  }
}

/** A loop that was removed because its workspace or its state is gone. */
export interface GoneLoop extends LoopRef {
  readonly gone: 'workspace' | 'state';
}

/** Removes such loops one after the other; `require` throws if the caller may not. */
export async function* removeGone(
  require: (loop: LoopRef) => Promise<void>,
): AsyncGenerator<GoneLoop, void, void> {
  // oxlint-disable no-await-in-loop -- in the order of the list
  for (const loop of readAllLoops().filter(({ folder }) => !existsSync(folder.workspace))) {
    await require(refOf(loop));
    await removeLoop(loop);
    yield { ...refOf(loop), gone: 'workspace' };
  }
  for (const key of registered().filter((one) => !existsSync(new LoopFolder(one).path))) {
    await require(key);
    unreserve(key);
    yield { ...key, gone: 'state' };
  }
  // oxlint-enable no-await-in-loop
}

async function removeFromWorkspace({ workspaceFolder, name, workspace }: LoopFolder): Promise<void> {
  const release = await lockWorkspaceFolder(workspaceFolder);
  unlinkAliases(workspace, name);
  unlinkProgress(workspaceFolder);
  removeWorkspaceFolder(workspaceFolder);
  release();
}

/** Removes the progress file of a loop and the link to it. */
export function removeProgress(workspace: string, name: string): void {
  const workspaceFolder = new WorkspaceFolder(workspace, name);
  unlinkProgress(workspaceFolder);
  rmSync(workspaceFolder.progressFile, { force: true });
}
