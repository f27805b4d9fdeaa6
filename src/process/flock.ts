/**
 * Kernel locks on open files, taken by the `flock` program: Node has no call for it.
 *
 * 1. The lock belongs to the open file that we share with `flock`, so it stays with our descriptor after `flock` has exited.
 * 2. Locks that are wanted at the same time are taken by one small shell: starting a process costs more the larger this one is,
 *    and starting them one by one would block it.
 * 3. An answer is given only after that shell has exited. Until then it has our files open too, and closing ours would not
 *    release the lock.
 * 4. A wait for a lock is a wait in the kernel: it costs nothing, and locks are given in the order in which they were asked for.
 */
import { spawn, spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { turn } from './turns.ts';

/** Locks an open file. Resolves to false if another process has the lock, to null if there is no `flock` program. */
export function flock(descriptor: number): Promise<boolean | null> {
  return new Promise((resolve, reject) => {
    waiting.push({ descriptor, resolve, reject });
    queueMicrotask(startShells);
  });
}

/** Locks an open file as soon as it is free. Resolves to false if it is not within this time, to null without `flock`. */
export async function flockWithin(descriptor: number, ms: number): Promise<boolean | null> {
  const deadline = performance.now() + ms;
  const left = (): number => deadline - performance.now();
  let isTaken = meaningOf(await runFlock(descriptor, ['-w', String(ms / 1000)]));
  // The `flock` of BusyBox cannot wait and returns at once.
  while (isTaken === false && left() > 0) {
    // oxlint-disable-next-line no-await-in-loop -- polls
    await sleep(POLL_MS);
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    isTaken = await flock(descriptor);
  }
  return isTaken;
}

const POLL_MS = 50;

/** The same at once; blocks this process. */
export function flockNow(descriptor: number): boolean | null {
  const { status, error } = spawnSync('flock', ['-n', '3'], {
    stdio: ['ignore', 'ignore', 'ignore', descriptor],
  });
  if (error !== undefined && 'code' in error && error.code === 'ENOENT') return null;
  if (error !== undefined) throw error;
  return meaningOf(status);
}

interface Wanted {
  readonly descriptor: number;
  readonly resolve: (taken: boolean | null) => void;
  readonly reject: (error: Error) => void;
}

const waiting: Wanted[] = [];
let shells = 0;

/** So few that the first of many waits only for some of the others. */
const MAX_LOCKS = 32;
const MAX_SHELLS = 2;

function startShells(): void {
  while (waiting.length > 0 && shells < MAX_SHELLS) {
    shells++;
    void takeAll(waiting.splice(0, MAX_LOCKS)).finally(() => {
      shells--;
      startShells();
    });
  }
}

async function takeAll(wanted: readonly Wanted[]): Promise<void> {
  try {
    const [first, ...others] = wanted.map(({ descriptor }) => descriptor);
    if (first === undefined) return;
    const statuses = others.length === 0 ? [await runFlock(first)] : await runShell([first, ...others]);
    for (const [index, { resolve, reject }] of wanted.entries()) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await turn();
      try {
        resolve(meaningOf(statuses[index] ?? null));
      } catch (error) {
        reject(asError(error));
      }
    }
  } catch (error) {
    for (const { reject } of wanted) reject(asError(error));
  }
}

/** The exit status of a `flock` for one descriptor; null if it was ended by a signal. A shell for it would only cost time. */
function runFlock(descriptor: number, how: readonly string[] = ['-n']): Promise<number | null> {
  return new Promise((resolve, reject) => {
    const child = spawn('flock', [...how, String(FIRST)], {
      stdio: ['ignore', 'ignore', 'ignore', descriptor],
      // Without it, `flock` looks for translations of messages that Ralph discards.
      env: { ...process.env, LC_ALL: 'C' },
    });
    child.once('error', (error) => {
      if ('code' in error && error.code === 'ENOENT') resolve(NOT_FOUND);
      else reject(error);
    });
    child.once('exit', resolve);
  });
}

/** The exit statuses of one `flock` for each descriptor; fewer if the shell was ended by a signal. */
function runShell(descriptors: readonly number[]): Promise<readonly number[]> {
  return new Promise((resolve, reject) => {
    const inherited = descriptors.map((_, index) => String(FIRST + index));
    const shell = spawn('/bin/sh', ['-c', SCRIPT, 'ralph-flock', ...inherited], {
      stdio: ['ignore', 'pipe', 'ignore', ...descriptors],
    });
    let text = '';
    shell.once('error', reject);
    shell.stdout?.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
    });
    shell.once('close', () => {
      resolve((text.match(/\d+(?=\n)/g) ?? []).map(Number));
    });
  });
}

const SCRIPT = 'for descriptor; do flock -n "$descriptor"; echo $?; done';
/** The first three descriptors are the shell's own. */
const FIRST = 3;
const NOT_FOUND = 127;

/** The meaning of the exit status of `flock`; null if a signal ended it. */
function meaningOf(status: number | null): boolean | null {
  if (status === NOT_FOUND) return null;
  if (status === 0 || status === 1) return status === 0;
  throw new Error(
    `cannot take a lock: flock ${status === null ? 'was ended by a signal' : `exited with ${status}`}`,
  );
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
