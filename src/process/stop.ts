/**
 * Nobody is left behind: ends everything that a run started, gently at first.
 *
 * 1. SIGTERM to the group and to whatever carries the run's marker; after the grace SIGKILL to every one of them,
 *    except the shim, which still has the status to write.
 * 2. It is over when a look sees nobody and nobody vanished while looking.
 * 3. Zombies count as gone. What overwrites its environment, `env -i`, sudo and containers cannot be seen this way.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Marker, ProcessTable, Stray, Sweep, SweptRun } from './table.ts';

/** Ends what is left of a run, and tells who had to be ended and who may have got away. */
export async function stopRun(run: StoppableRun, table: ProcessTable): Promise<Stopped> {
  const ended = new Set<number>();
  const signal = (pid: number, name: NodeJS.Signals): void => {
    ended.add(pid);
    send(pid, name);
  };

  const look = (): Sweep => table.left(run);
  let left = look();
  for (const pid of left.pids) signal(pid, 'SIGTERM');
  const deadline = performance.now() + run.graceMs;
  for (let pause = 2; left.pids.length > 0 && performance.now() < deadline; pause = Math.min(pause * 2, 50)) {
    // oxlint-disable-next-line no-await-in-loop -- the kernel tells nobody but the parent that a process is gone
    await sleep(Math.min(pause, Math.max(1, deadline - performance.now())));
    left = look();
  }
  // Where others come and go all the time, a look that loses nobody may never come.
  for (let looks = 0; left.pids.length > 0 || (left.vanished > 0 && looks < 100); looks++) {
    for (const pid of left.pids) signal(pid, 'SIGKILL');
    // oxlint-disable-next-line no-await-in-loop -- as above
    if (left.pids.length > 0) await sleep(2);
    left = look();
  }
  return { ended: [...ended], strays: left.strays };
}

/** Ends at once whoever carries a marker: what an interrupted command left that will be run again. */
export async function killMarked(marker: Marker, table: ProcessTable): Promise<void> {
  for (let left = table.marked(marker); left.length > 0; left = table.marked(marker)) {
    for (const pid of left) send(pid, 'SIGKILL');
    // oxlint-disable-next-line no-await-in-loop -- as above
    await sleep(2);
  }
}

export interface StoppableRun extends SweptRun {
  readonly graceMs: number;
}

export interface Stopped {
  readonly ended: readonly number[];
  readonly strays: readonly Stray[];
}

function send(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // Gone already, which is what was wanted.
  }
}
