import { problemWithName } from '../loop/names.ts';
import { isEnlisted } from '../home/background.ts';
import { workspaceWith } from '../home/find-workspace.ts';
import { enclosingRuns, loopOf } from '../home/enclosing-runs.ts';
import { findFolder, readLoop, requireFolder, type LoopReading } from '../home/read-loop.ts';
import { isInSession, type Spec } from '../home/spec.ts';
import type { LoopFolder } from '../home/home.ts';
import { UserError } from '../user-error.ts';
import type { LoopRef } from './loops.ts';

/** The loop of this name in a folder or above it; the error lists the existing ones. */
export function findLoop(from: string, name: string): LoopReading {
  checkName(name);
  return loopIn(workspaceWith(from, name), name);
}

/** The loop of this name in exactly this workspace, a real path. */
export function loopIn(workspace: string, name: string): LoopReading {
  return readLoop(workspace, name);
}

/** The same without reading it; `self` is the loop of the run that asks, unless a loop has that name. */
export function findRef(from: string, name: string): LoopRef {
  checkName(name);
  const found = findFolder(workspaceWith(from, name), name);
  const own = found === null && name === 'self' ? loopOfRun() : null;
  if (own !== null) return refOf({ spec: own });
  const { id, workspace } = found ?? requireFolder(workspaceWith(from, name), name);
  return { id, name, workspace };
}

/** The loop of the run that this process works for; null outside of runs. */
export function loopOfRun(env: NodeJS.ProcessEnv = process.env): Spec | null {
  const [run] = enclosingRuns(env);
  return run === undefined ? null : loopOf(run);
}

/** The folder of a loop, without reading it; throws if the loop is gone, or if another one has its name. */
export function folderOf({ id, name, workspace }: LoopRef): LoopFolder {
  const folder = requireFolder(workspace, name);
  if (folder.id === id) return folder;
  throw replaced(name);
}

/** The loop as it is now; throws if it is gone, or if another one has its name. */
export function loopAt({ id, name, workspace }: LoopRef): LoopReading {
  const loop = readLoop(workspace, name);
  if (loop.spec.id === id) return loop;
  throw replaced(name);
}

export function replaced(name: string): UserError {
  return new UserError(`the loop "${name}" was replaced by another one of its name meanwhile`);
}

/** The same with its owner: one that the daemon should own may have to wait for a daemon. */
export async function ownedLoopAt(ref: LoopRef): Promise<LoopReading> {
  const loop = loopAt(ref);
  if (loop.owner !== null || !isEnlisted(loop.spec.id)) return loop;
  const { isOwned } = await import('../background/hand-over.ts');
  await isOwned(loop.folder);
  return loopAt(ref);
}

export function refOf({ spec: { id, name, workspace } }: Pick<LoopReading, 'spec'>): LoopRef {
  return { id, name, workspace };
}

/** Throws if no loop can have this name. */
function checkName(name: string): void {
  const problem = problemWithName(name);
  if (problem !== null) throw new UserError(`invalid loop name ${JSON.stringify(name)}: ${problem}`);
}

/** Throws if the files of a loop cannot be read, with what to do. */
export function refuseUnreadable({ trouble }: LoopReading): void {
  if (trouble !== null) throw new UserError(trouble);
}

/** Nothing continues a loop that has ended in a session. */
export function refuseEndedInSession({ spec, state }: LoopReading): void {
  if (isInSession(spec) && state.outcome !== null)
    throw new UserError(
      `loop ${spec.name} ran in a session and has ended; start a new one there with: /ralph`,
    );
}

/** Throws if a loop has ended: it takes no changes until it is resumed. */
export function refuseEnded(loop: LoopReading): void {
  refuseUnreadable(loop);
  refuseEndedInSession(loop);
  refuseDone(loop);
  const { name } = loop.spec;
  if (loop.state.outcome !== null)
    throw new UserError(`loop ${name} has ended; resume it with: ralph resume ${name}`);
}

/** Throws if a loop is done: nothing continues it. */
export function refuseDone({ spec: { name }, state: { outcome } }: LoopReading): void {
  if (outcome?.type === 'done')
    throw new UserError(`loop ${name} is already done; start it again with: ralph run --name ${name} …`);
}
