/**
 * The lock of a loop: a kernel lock on a file that the owner keeps open, so that a loop has only one owner.
 *
 * 1. An owner that is stopped (SIGSTOP) keeps the lock. One that dies loses it, even while its agent still runs, because
 *    the agent does not inherit the descriptor. The kernel frees it with the last thread, a moment after the process is
 *    seen to have ended, so a lock of an owner that has ended is waited for.
 * 2. Only a lock on the file that is at the path now counts; a lock on a file that was removed does not.
 */
import { hash } from 'node:crypto';
import { closeSync, constants, fstatSync, ftruncateSync, openSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openRegular, PRIVATE_FOLDER, makeFolders } from '../files/files.ts';
import { flock, flockNow } from '../process/flock.ts';
import { livingOwner, readOwner, type LockOwner } from './lock-owner.ts';

/** Takes the lock, or returns the process that has it. */
export async function takeLock(
  path: string,
  owner: LockOwner,
  open: () => number = () => openState(path),
): Promise<LockResult> {
  const giveUpAt = performance.now() + DYING_MS;
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- repeats only if the file was removed, or its owner has ended, meanwhile
    const taken = await tryLock(path, owner, open);
    if (taken !== null) return taken;
    if (livingOwner(path) !== null || performance.now() > giveUpAt)
      return { taken: false, owner: readOwner(path) };
    // oxlint-disable-next-line no-await-in-loop -- polls: no event says that a lock is free
    await sleep(RETRY_MS);
  }
}

/** More than the last thread of a killed process needs to end on a busy machine. */
const DYING_MS = 2000;
const RETRY_MS = 10;

/** Takes the lock if no open file has it; null if one has. */
async function tryLock(path: string, owner: LockOwner, open: () => number): Promise<LockResult | null> {
  for (;;) {
    const descriptor = process.platform === 'darwin' ? openExclusively(path) : open();
    if (descriptor === null) return null;
    // oxlint-disable-next-line no-await-in-loop -- repeats only if the file was removed meanwhile
    const release = process.platform === 'darwin' ? () => {} : await lock(descriptor, path);
    if (release !== null && isAt(descriptor, path)) return held(descriptor, owner, release);
    release?.();
    closeSync(descriptor);
    if (release === null) return null;
  }
}

/** A lock that this process has, with its name in the file. */
function held(descriptor: number, owner: LockOwner, release: () => void): LockResult {
  show(descriptor, owner);
  return {
    taken: true,
    release: () => {
      // This process may live on, and must not be shown as the owner.
      show(descriptor, null);
      release();
      closeSync(descriptor);
    },
  };
}

export type LockResult =
  | { readonly taken: true; readonly release: () => void }
  | { readonly taken: false; readonly owner: LockOwner | null };

/** Locks an open file; returns how to release it, or null if another process has the lock. */
async function lock(descriptor: number, path: string): Promise<(() => void) | null> {
  const taken = await flock(descriptor);
  if (taken === null) return listen(path);
  return taken ? () => {} : null;
}

/** Takes the lock again after its file was removed; false if another process has it. It is held until this process ends. */
export function retakeLock(
  path: string,
  owner: LockOwner,
  open: () => number = () => openState(path),
): boolean {
  const descriptor = process.platform === 'darwin' ? openExclusively(path) : open();
  // Without `flock` the lock is a socket, which the removal of the file does not affect.
  const taken = descriptor !== null && (process.platform === 'darwin' || (flockNow(descriptor) ?? true));
  if (!taken || !isAt(descriptor, path)) {
    if (descriptor !== null) closeSync(descriptor);
    return false;
  }
  show(descriptor, owner);
  return true;
}

/** Opens the lock of a loop in the state folder. */
function openState(path: string): number {
  makeFolders(dirname(path), PRIVATE_FOLDER);
  return openRegular(path, 'lock');
}

/** Writes down who has the lock, for other processes. */
function show(descriptor: number, owner: LockOwner | null): void {
  try {
    const { size } = fstatSync(descriptor);
    const text = owner === null ? '' : JSON.stringify(owner);
    // Blanks over the rest of an earlier text: cutting a file off costs many times as much as writing over it.
    if (size > MAX_SHOWN_BYTES) ftruncateSync(descriptor, 0);
    writeSync(descriptor, `${text.padEnd(Math.min(size, MAX_SHOWN_BYTES) - 1)}\n`, 0);
  } catch {
    // The lock holds without it: another user's file can be locked and not written, and the disk may be full.
  }
}

/** No owner takes more to show. */
const MAX_SHOWN_BYTES = 500;

/** The lock without a `flock` program: an abstract socket, whose name the kernel gives to only one process. */
async function listen(path: string): Promise<(() => void) | null> {
  const { createServer } = await import('node:net');
  const name = `\0ralph-${hash('sha256', path).slice(0, 40)}`;
  const server = createServer();
  server.unref();
  return new Promise((resolve) => {
    server.once('error', () => resolve(null));
    server.listen(name, () => resolve(() => server.close()));
  });
}

const O_EXLOCK = 0x20;

function openExclusively(path: string): number | null {
  try {
    return openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_NONBLOCK | O_EXLOCK);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EAGAIN') return null;
    throw error;
  }
}

function isAt(descriptor: number, path: string): boolean {
  try {
    return fstatSync(descriptor).ino === statSync(path).ino;
  } catch {
    return false;
  }
}
