/**
 * Ends everything that a run started.
 *
 * 1. SIGTERM to the process group and to every process with the run's marker; after the grace SIGKILL to those that are
 *    left, except the shim, which still has to write the exit status.
 * 2. It is over when a sweep finds no process and none exited during the sweep; then the shim has nothing left to wait for.
 * 3. Zombies count as gone. It cannot see processes that replace their environment (`env -i`, sudo, containers). It does
 *    not wait for processes that it may not or cannot kill; it reports them as strays.
 */
import type { StrayProcess } from '../loop/receipt.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ProcessTable, Sweep, SweptRun } from './process-table.ts';
import { turn } from './turns.ts';
import { codeOf } from '../files/files.ts';

/** Ends what is left of a run; reports the processes that it signalled and those that may have escaped. */
export async function stopRun(run: StoppableRun, table: ProcessTable): Promise<Stopped> {
  const remains = new Remains(run, table);
  await remains.sweep(run.graceMs);
  await endShim(run, table, remains);
  // The runs of many loops may have ended together, and each has a lot to write now.
  await turn();
  return remains.report;
}

export interface StoppableRun extends SweptRun {
  readonly graceMs: number;
}

export interface Stopped {
  readonly ended: readonly number[];
  readonly strays: readonly StrayProcess[];
}

/** SIGKILL has no effect on a process that waits for hardware; it is not waited for any longer than this. */
const UNKILLABLE_MS = 10_000;

/** If other processes start and exit all the time, there may never be a sweep without exits. */
const MAX_EMPTY_SWEEPS = 100;

/** The processes of one run that still have to end. */
class Remains {
  readonly #run: SweptRun;
  readonly #table: ProcessTable;
  readonly #signalled = new Set<number>();
  readonly #unkillable = new Set<number>();
  #left: Sweep = { pids: [], vanished: 0, strays: [] };

  constructor(run: SweptRun, table: ProcessTable) {
    this.#run = run;
    this.#table = table;
  }

  /** Finds the processes that are left. */
  async #look(): Promise<void> {
    const sweep = await this.#table.left(this.#run);
    this.#left = { ...sweep, pids: sweep.pids.filter((pid) => !this.#unkillable.has(pid)) };
  }

  /** Finds the processes that are left and ends them, and those that they start meanwhile. */
  async sweep(graceMs: number): Promise<void> {
    await this.#look();
    await this.#terminate(graceMs);
    await this.#kill();
  }

  /** Sends SIGTERM and waits until all have exited, for the grace at most. */
  async #terminate(graceMs: number): Promise<void> {
    for (const pid of this.#left.pids) this.#signal(pid, 'SIGTERM');
    const deadline = performance.now() + graceMs;
    while (this.#left.pids.length > 0 && performance.now() < deadline) {
      // oxlint-disable-next-line no-await-in-loop -- only the parent of a process is notified when it exits
      await this.#waitForExits(deadline);
      // oxlint-disable-next-line no-await-in-loop -- as above
      await this.#look();
    }
  }

  /** Waits until the processes that were found are gone; that they have left no others, only a sweep can say. */
  async #waitForExits(deadline: number): Promise<void> {
    for (let pause = 2; performance.now() < deadline; pause = Math.min(pause * 2, 50)) {
      // oxlint-disable-next-line no-await-in-loop -- as above
      await sleep(Math.min(pause, Math.max(1, deadline - performance.now())));
      if (this.#table.alive(this.#left.pids).length === 0) return;
    }
  }

  /** Sends SIGKILL until no process is left. */
  async #kill(): Promise<void> {
    const deadline = performance.now() + UNKILLABLE_MS;
    for (let sweeps = 0; this.#needsSweep(sweeps); sweeps++) {
      for (const pid of this.#left.pids) this.#signal(pid, 'SIGKILL');
      // oxlint-disable-next-line no-await-in-loop -- as above
      if (this.#left.pids.length > 0) await sleep(2);
      // oxlint-disable-next-line no-await-in-loop -- as above
      await this.#look();
      if (performance.now() > deadline) for (const pid of this.#left.pids) this.#unkillable.add(pid);
    }
  }

  get report(): Stopped {
    const unkillable = [...this.#unkillable].map((pid) => ({ pid, command: 'could not be killed' }));
    return { ended: [...this.#signalled], strays: [...this.#left.strays, ...unkillable] };
  }

  #needsSweep(sweeps: number): boolean {
    const { pids, vanished } = this.#left;
    return pids.length > 0 || (vanished > 0 && sweeps < MAX_EMPTY_SWEEPS);
  }

  #signal(pid: number, name: NodeJS.Signals): void {
    this.#signalled.add(pid);
    if (!send(pid, name)) this.#unkillable.add(pid);
  }
}

/**
 * Waits for a shim that has nothing left to wait for. One that had just begun starts its program now, which is ended too; one that
 * does not exit was stopped with SIGSTOP.
 */
async function endShim(
  { shim, graceMs }: StoppableRun,
  table: ProcessTable,
  remains: Remains,
): Promise<void> {
  const deadline = performance.now() + 2000;
  let wasAlive = false;
  for (let pause = 1; table.lives(shim); pause = Math.min(pause * 1.5, 20)) {
    wasAlive = true;
    if (performance.now() > deadline) {
      send(shim.pid, 'SIGKILL');
      break;
    }
    // oxlint-disable-next-line no-await-in-loop -- it may not be our child, so there is no exit event
    await sleep(pause);
    // oxlint-disable-next-line no-await-in-loop -- as above
    await remains.sweep(graceMs);
  }
  if (wasAlive) await remains.sweep(graceMs);
}

/** Ends the processes that `look` finds: SIGTERM first if there is a grace, then SIGKILL. */
export async function killAll(look: () => Promise<readonly number[]>, graceMs = 0): Promise<void> {
  let left = await look();
  const termDeadline = performance.now() + graceMs;
  if (graceMs > 0) for (const pid of left) send(pid, 'SIGTERM');
  while (left.length > 0 && performance.now() < termDeadline) {
    // oxlint-disable-next-line no-await-in-loop -- only the parent of a process is notified when it exits
    await sleep(10);
    // oxlint-disable-next-line no-await-in-loop -- as above
    left = await look();
  }
  const killDeadline = performance.now() + UNKILLABLE_MS;
  while (left.length > 0 && performance.now() < killDeadline) {
    for (const pid of left) send(pid, 'SIGKILL');
    // oxlint-disable-next-line no-await-in-loop -- as above
    await sleep(2);
    // oxlint-disable-next-line no-await-in-loop -- as above
    left = await look();
  }
}

/** False if we may not signal the process; true if it is already gone. */
function send(pid: number, name: NodeJS.Signals): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'EPERM');
  }
}

/** Whether a process group exists, also one of another user; throws for a number that no group has. */
export function isGroupAlive(pgid: number): boolean {
  if (!Number.isInteger(pgid) || pgid <= 0 || pgid > MAX_PID) throw new Error('pgid is invalid');
  // To the kernel -1 means every process; the first process has this group.
  if (pgid === 1) return true;
  try {
    process.kill(-pgid, 0);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EPERM') return true;
    if (codeOf(error) === 'ESRCH') return false;
    throw error;
  }
}

const MAX_PID = 2 ** 31 - 1;
