import { takeLock } from '../home/lock.ts';
import { UserError } from '../user-error.ts';
import { orphanOf } from '../home/orphan.ts';
import { endStep } from './recovery.ts';
import { readLoopAt, type LoopReading } from '../home/read-loop.ts';
import { thisProcess } from '../home/lock-owner.ts';

/** Runs `work` on the files of a loop that is not running, and holds the loop's lock meanwhile. */
export async function withIdleLoop<T>(loop: LoopReading, work: () => Promise<T>): Promise<T> {
  const { folder, spec } = loop;
  const lock = await takeLock(folder.lock, thisProcess());
  if (!lock.taken) throw stillRunning(spec.name, lock.owner?.pid ?? null);
  try {
    const { state } = readLoopAt(folder, { isLocked: true }) ?? loop;
    // The agent may have outlived its owner; its files must not change.
    const agent = orphanOf({ ...loop, state, owner: null });
    if (agent !== null) {
      throw new UserError(
        `the agent of "${spec.name}" (process ${agent}) is still running; stop it first: ralph stop ${spec.name} --now`,
      );
    }
    await endStep(state, spec, folder);
    return await work();
  } finally {
    lock.release();
  }
}

/** The error for a running loop; `where` says whose files it works on, if not its own. */
export function stillRunning(name: string, pid: number | null, where = ''): UserError {
  return new UserError(
    `the loop "${name}" is running${where} (process ${pid ?? 'unknown'}); pause it first with: ralph pause ${name}, or stop it with: ralph stop ${name} --now`,
  );
}
