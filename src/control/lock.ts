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
import { readOwner, type LockOwner } from './owner.ts';

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
  const { status, error } = spawnSync('flock', ['-n', '3'], {
    stdio: ['ignore', 'ignore', 'ignore', descriptor],
  });
  if (error === undefined) return status === 0 ? () => {} : null;
  return listen(path);
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
