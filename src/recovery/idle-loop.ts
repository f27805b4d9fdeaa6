import { takeLock } from '../store/lock.ts';
import { openRun } from '../loop/run.ts';
import { processes } from '../process/process.ts';
import { UserError } from '../user-error.ts';
import { endStep } from './recovery.ts';
import { readLoopAt, type LoopReading } from '../store/read-loop.ts';
import { thisProcess } from '../store/lock-owner.ts';

/** Does something to the files of a loop that nobody drives, and that nobody drives meanwhile: we have its lock. */
export async function withIdleLoop<T>(loop: LoopReading, work: () => Promise<T>): Promise<T> {
  const { folder, spec } = loop;
  const lock = await takeLock(folder.lock, thisProcess());
  if (!lock.taken) throw stillRunning(spec.name, lock.owner?.pid ?? null);
  try {
    const { state } = readLoopAt(folder) ?? loop;
    // Files must not change under an agent whose owner is gone.
    const agent = openRun(state)?.receipt ?? null;
    if (agent !== null && processes.lives(agent)) {
      throw new UserError(
        `the agent of "${spec.name}" (process ${agent.pid}) is still at work; end it first: ralph stop ${spec.name} --now`,
      );
    }
    // Nor may what its owner did not live to end go on.
    await endStep(state, spec, folder);
    return await work();
  } finally {
    lock.release();
  }
}

/** Somebody drives this loop, which works on the files of another one where that is said. */
export function stillRunning(name: string, pid: number | null, where = ''): UserError {
  return new UserError(
    `"${name}" is running${where}, owned by process ${pid ?? '?'}; let it rest first: ralph pause ${name}, or end it: ralph stop ${name} --now`,
  );
}
