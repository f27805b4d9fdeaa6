import { existsSync, rmSync } from 'node:fs';
import { dismiss } from '../store/background.ts';
import { takeLock } from '../store/lock.ts';
import { lockDesk, removeDesk } from '../store/desk.ts';
import { refuseRemoval } from '../store/family.ts';
import { unreserve } from '../store/registry.ts';
import { forget } from '../store/kept-environment.ts';
import { UserError } from '../user-error.ts';
import { unlinkAliases, unlinkProgress } from '../store/aliases.ts';
import { orphanOf } from '../recovery/orphan.ts';
import { endLeftovers } from '../recovery/recovery.ts';
import { readLoopAt, type LoopReading } from '../store/read-loop.ts';
import type { LoopFolder } from '../store/store.ts';
import { forgetRecords, spaceOfRecords } from '../scm/start.ts';
import { startersEnvironment } from '../store/run-environment.ts';
import { thisProcess } from '../store/lock-owner.ts';
import { closeWindow } from './window.ts';
import { hasTree } from '../worktree/worktree.ts';

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
    forget(folder.id);
    dismiss(folder.id);
    rmSync(folder.path, { recursive: true, force: true });
    // Last, so that a removal that was killed can be repeated.
    unreserve(folder);
    return { agent, bytesForGc };
  } finally {
    lock.release();
  }
}

async function removeFromWorkspace({ desk, name, workspace }: LoopFolder): Promise<void> {
  const release = await lockDesk(desk);
  unlinkAliases(workspace, name);
  unlinkProgress(desk);
  removeDesk(desk);
  release();
}
