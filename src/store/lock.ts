/**
 * One owner per loop, by a kernel lock on a file that the owner keeps open.
 *
 * 1. A stopped owner keeps it, a dead one loses it at once, whatever its agent does: the descriptor is not inherited.
 * 2. It is the lock of the file that stands at the path now; one that was removed meanwhile is no lock.
 */
import { spawnSync } from 'node:child_process';
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { readOwner, type LockOwner } from './lock-owner.ts';

/** Takes the lock, or says who has it. */
export async function takeLock(path: string, owner: LockOwner): Promise<LockResult> {
  mkdirSync(dirname(path), { recursive: true });
  for (;;) {
    const descriptor = process.platform === 'darwin' ? openExclusively(path) : openSync(path, 'a+');
    if (descriptor === null) return { taken: false, owner: readOwner(path) };
    // oxlint-disable-next-line no-await-in-loop -- again only if the file was removed in between
    const release = process.platform === 'darwin' ? () => {} : await lock(descriptor, path);
    if (release === null) {
      closeSync(descriptor);
      return { taken: false, owner: readOwner(path) };
    }
    if (isAt(descriptor, path)) {
      ftruncateSync(descriptor, 0);
      writeSync(descriptor, `${JSON.stringify(owner)}\n`);
      return {
        taken: true,
        release: () => {
          // Whoever lives on after this is not the owner any more.
          ftruncateSync(descriptor, 0);
          release();
          closeSync(descriptor);
        },
      };
    }
    release();
    closeSync(descriptor);
  }
}

export type LockResult =
  | { readonly taken: true; readonly release: () => void }
  | { readonly taken: false; readonly owner: LockOwner | null };

/** Locks an open file; the lock stays with our descriptor when the program that set it has gone. */
async function lock(descriptor: number, path: string): Promise<(() => void) | null> {
  const taken = flock(descriptor);
  if (taken === null) return listen(path);
  return taken ? () => {} : null;
}

/** Whether the lock could be had; null where there is no `flock` program. Any other trouble is no answer. */
function flock(descriptor: number): boolean | null {
  const { status, error } = spawnSync('flock', ['-n', '3'], {
    stdio: ['ignore', 'ignore', 'ignore', descriptor],
  });
  if (error !== undefined && 'code' in error && error.code === 'ENOENT') return null;
  if (error !== undefined) throw error;
  if (status !== 0 && status !== 1) throw new Error(`flock ended with ${status ?? 'a signal'}`);
  return status === 0;
}

/** Takes the lock again after its file was removed; false when somebody else has it. It is held until this process ends. */
export function retakeLock(path: string, owner: LockOwner): boolean {
  mkdirSync(dirname(path), { recursive: true });
  const descriptor = process.platform === 'darwin' ? openExclusively(path) : openSync(path, 'a+');
  // A socket's name does not go with a file.
  const taken = descriptor !== null && (process.platform === 'darwin' || (flock(descriptor) ?? true));
  if (!taken || !isAt(descriptor, path)) {
    if (descriptor !== null) closeSync(descriptor);
    return false;
  }
  ftruncateSync(descriptor, 0);
  writeSync(descriptor, `${JSON.stringify(owner)}\n`);
  return true;
}

/** Where there is no `flock` program: an abstract socket, whose name the kernel gives to one process only. */
async function listen(path: string): Promise<(() => void) | null> {
  const [{ createServer }, { createHash }] = await Promise.all([import('node:net'), import('node:crypto')]);
  const name = `\0ralph-${createHash('sha256').update(path).digest('hex').slice(0, 40)}`;
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
