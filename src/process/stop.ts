/**
 * Nobody is left behind: ends everything that a run started, gently at first.
 *
 * 1. SIGTERM to the group and to whatever carries the run's marker; after the grace SIGKILL to every one of them,
 *    except the shim, which still has the status to write.
 * 2. It is over when a look sees nobody and nobody vanished while looking; then the shim has nothing left to wait for.
 * 3. Zombies count as gone. What overwrites its environment, `env -i`, sudo and containers cannot be seen this way, and
 *    what may not be killed, or cannot be, is not waited for: it is named.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Birth, ProcessTable, Stray, Sweep, SweptRun } from './process-table.ts';

/** Ends what is left of a run, and tells who had to be ended and who may have got away. */
export async function stopRun(run: StoppableRun, table: ProcessTable): Promise<Stopped> {
  const ended = new Set<number>();
  const beyond = new Set<number>();
  const signal = (pid: number, name: NodeJS.Signals): void => {
    ended.add(pid);
    if (!send(pid, name)) beyond.add(pid);
  };
  const look = (): Sweep => {
    const sweep = table.left(run);
    return { ...sweep, pids: sweep.pids.filter((pid) => !beyond.has(pid)) };
  };

  let left = look();
  for (const pid of left.pids) signal(pid, 'SIGTERM');
  const deadline = performance.now() + run.graceMs;
  for (let pause = 2; left.pids.length > 0 && performance.now() < deadline; pause = Math.min(pause * 2, 50)) {
    // oxlint-disable-next-line no-await-in-loop -- the kernel tells nobody but the parent that a process is gone
    await sleep(Math.min(pause, Math.max(1, deadline - performance.now())));
    left = look();
  }
  const patience = performance.now() + UNKILLABLE_MS;
  // Where others come and go all the time, a look that loses nobody may never come.
  for (let looks = 0; left.pids.length > 0 || (left.vanished > 0 && looks < 100); looks++) {
    for (const pid of left.pids) signal(pid, 'SIGKILL');
    // oxlint-disable-next-line no-await-in-loop -- as above
    if (left.pids.length > 0) await sleep(2);
    left = look();
    if (performance.now() > patience) for (const pid of left.pids) beyond.add(pid);
  }
  await endShim(run.shim, table);
  const unkillable = [...beyond].map((pid) => ({ pid, command: 'not to be killed' }));
  return { ended: [...ended], strays: [...left.strays, ...unkillable] };
}

/** A process that SIGKILL has not ended by then waits for hardware, and nobody else should. */
const UNKILLABLE_MS = 10_000;

/** Waits for a shim that has nothing left to wait for; one that does not end now has been stopped by somebody. */
async function endShim(shim: Birth, table: ProcessTable): Promise<void> {
  const patience = performance.now() + 2000;
  while (table.lives(shim)) {
    if (performance.now() > patience) {
      send(shim.pid, 'SIGKILL');
      return;
    }
    // oxlint-disable-next-line no-await-in-loop -- it may not be our child, so nobody tells us
    await sleep(1);
  }
}

/** Ends whoever a look finds, what an interrupted command left that will be run again: at once, or after a grace. */
export async function killAll(look: () => readonly number[], graceMs = 0): Promise<void> {
  const deadline = performance.now() + graceMs;
  const first = graceMs > 0 ? look() : [];
  for (const pid of first) send(pid, 'SIGTERM');
  while (first.length > 0 && performance.now() < deadline && look().length > 0) {
    // oxlint-disable-next-line no-await-in-loop -- as above
    await sleep(10);
  }
  const patience = performance.now() + UNKILLABLE_MS;
  for (let left = look(); left.length > 0 && performance.now() < patience; left = look()) {
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

/** False when it may not be signalled; one that is gone is as good as signalled. */
function send(pid: number, name: NodeJS.Signals): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'EPERM');
  }
}
