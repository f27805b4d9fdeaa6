/**
 * Nobody is left behind: ends everything that a run started, gently at first.
 *
 * 1. SIGTERM to the group and to whatever carries the run's marker; after the grace SIGKILL to every one of them,
 *    except the shim, which still has the status to write.
 * 2. It is over when a look sees nobody and nobody vanished while looking.
 * 3. Zombies count as gone. What overwrites its environment, `env -i`, sudo and containers cannot be seen this way.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Birth, ProcessTable } from './table.ts';

/** Ends what is left of a run and tells who had to be ended. */
export async function stopRun(run: StoppableRun, table: ProcessTable): Promise<readonly number[]> {
  const ended = new Set<number>();
  const signal = (pid: number, name: NodeJS.Signals): void => {
    ended.add(pid);
    send(pid, name);
  };

  let left = survivors(run, table);
  for (const pid of left.pids) signal(pid, 'SIGTERM');
  const deadline = performance.now() + run.graceMs;
  for (let pause = 2; left.pids.length > 0 && performance.now() < deadline; pause = Math.min(pause * 2, 50)) {
    // oxlint-disable-next-line no-await-in-loop -- the kernel tells nobody but the parent that a process is gone
    await sleep(Math.min(pause, Math.max(1, deadline - performance.now())));
    left = survivors(run, table);
  }
  while (left.pids.length > 0 || left.vanished > 0) {
    for (const pid of left.pids) signal(pid, 'SIGKILL');
    // oxlint-disable-next-line no-await-in-loop -- as above
    if (left.pids.length > 0) await sleep(2);
    left = survivors(run, table);
  }
  return [...ended];
}

export interface StoppableRun {
  /** The shim: leader of the group, and never killed. */
  readonly shim: Birth;
  /** `NAME=value` in the environment of everything that the run started. */
  readonly marker: string;
  readonly graceMs: number;
}

function survivors(
  run: StoppableRun,
  table: ProcessTable,
): { readonly pids: readonly number[]; readonly vanished: number } {
  const { pids, vanished } = table.marked(run.marker, run.shim);
  const all = new Set([...table.members(run.shim.pid), ...pids]);
  all.delete(run.shim.pid);
  return { pids: [...all], vanished };
}

function send(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // Gone already, which is what was wanted.
  }
}
