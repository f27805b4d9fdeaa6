import { isEnlisted } from '../store/background.ts';
import { workspaceWith } from '../store/find-workspace.ts';
import { readLoop, type LoopReading } from '../store/read-loop.ts';
import { problemWithName } from '../store/names.ts';
import { isInSession } from '../store/spec.ts';
import type { Control } from '../loop/event.ts';
import { UserError } from '../user-error.ts';
import { print, warn } from './print.ts';

/** The loop of this name in a folder or above it; the error lists the existing ones. */
export function findLoop(from: string, name: string): LoopReading {
  checkName(name);
  return readLoop(workspaceWith(from, name), name);
}

/** The loop of this name with its owner: one that the daemon should own may have to wait for a daemon. */
export async function findOwned(from: string, name: string): Promise<LoopReading> {
  const loop = findLoop(from, name);
  if (loop.owner !== null || !isEnlisted(loop.spec.id)) return loop;
  const { isOwned } = await import('../daemon/hand-over.ts');
  await isOwned(loop.folder);
  return findLoop(from, name);
}

/** Throws if the files of a loop cannot be read, with what to do. */
export function refuseUnreadable({ trouble }: LoopReading): void {
  if (trouble !== null) throw new UserError(trouble);
}

/** The same as a warning, for a command that needs only the files that can be read. */
export function warnUnreadable({ trouble }: LoopReading): void {
  if (trouble !== null) warn(`ralph: warning: ${trouble}\n`);
}

/** Throws if no loop can have this name. */
export function checkName(name: string): void {
  const problem = problemWithName(name);
  if (problem !== null) throw new UserError(`invalid loop name ${JSON.stringify(name)}: ${problem}`);
}

/** Sends a control to a loop and prints whether it was delivered or queued. */
export async function sendTo(
  loop: LoopReading,
  control: Control,
  done: string,
  /** What to do if it has no owner that takes the control; null leaves it queued. */
  unowned: (() => Promise<number>) | null = null,
): Promise<number> {
  const { name } = loop.spec;
  refuseUnreadable(loop);
  refuseEndedInSession(loop);
  const { deliver } = await import('../store/deliver.ts');
  const delivery = await deliver(loop, control);
  switch (delivery) {
    case 'queued':
      if (unowned !== null) return unowned();
      print(`queued for ${name}: ${whenTaken(loop)}\n`);
      return 0;
    case 'delivered':
      print(`${done}\n`);
      return 0;
    case 'refused':
      throw new UserError(`loop ${name} rejected the request ${JSON.stringify(control)}`);
    case 'unanswered':
      print(`queued for ${name}: its owner (process ${loop.owner}) does not respond; is it suspended?\n`);
      return 0;
  }
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

function whenTaken({ spec, state }: LoopReading): string {
  if (isInSession(spec))
    return state.control.paused
      ? 'it takes effect with the next turn of its session; type anything there'
      : 'it takes effect when the turn of its session ends';
  return `the loop is not running; it takes effect with: ralph resume ${spec.name}`;
}
