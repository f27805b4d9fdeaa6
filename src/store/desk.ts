/**
 * The desk of a loop: its folder in the workspace, where an agent or a repository can put anything.
 *
 * 1. Nothing on the way to a file on the desk is followed out of it (`files/below.ts`).
 * 2. What an agent puts in the place of a folder on the desk is moved aside, unread.
 * 3. The owner holds an advisory lock on it: another user, or a container that shares the workspace, has another state
 *    folder and would otherwise drive a loop on the same desk. Steps of a session, which take milliseconds, go without it.
 */
import { closeSync, constants, copyFileSync, fstatSync, renameSync, rmSync, writeSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { below } from '../files/below.ts';
import { codeOf, foundAt, isTaken, openRegular, readAll, UnusableFile } from '../files/files.ts';
import { replaceFile, type ReplaceOptions } from '../files/replace-file.ts';
import { retakeLock, takeLock, type LockResult } from './lock.ts';
import { thisProcess } from './lock-owner.ts';
import { cannotWrite } from './ralph-folder.ts';
import type { Desk, LoopFolder } from './store.ts';
import { UserError } from '../user-error.ts';

/** Calls `use` with a path to a folder of the desk that is valid during the call; makes the folder where it is missing. */
export function onDesk<T>(desk: Desk, folder: string, use: (path: string) => T): T {
  const parts = relative(desk.workspace, folder).split('/').filter(Boolean);
  const onFolder = (): T => below(desk.workspace, parts, { make: true }, use);
  try {
    return onFolder();
  } catch (error) {
    if (!(error instanceof UnusableFile) || !clearWay(desk, parts)) throw error;
    return onFolder();
  }
}

/** Moves the first thing aside that is no folder on the way to a folder of the desk; whether there was one. */
function clearWay({ workspace, parts: own }: Desk, parts: readonly string[]): boolean {
  const way = parts[0] === own[0] ? own : [];
  const more = parts.slice(way.length);
  return more.some((name, at) =>
    below(workspace, [...way, ...more.slice(0, at)], { make: false }, (folder) => {
      const path = join(folder, name);
      const found = foundAt(path);
      if (found === null || found.isDirectory()) return false;
      let number = 1;
      while (isTaken(`${path}.aside-${number}`)) number++;
      renameSync(path, `${path}.aside-${number}`);
      return true;
    }),
  );
}

/** Writes a file of the desk as a whole; makes its folder where it is missing. */
export function putOnDesk(desk: Desk, path: string, content: string, options: ReplaceOptions = {}): void {
  onDesk(desk, dirname(path), (folder) => replaceFile(join(folder, basename(path)), content, options));
}

/** Makes the desk where it is missing. */
export function makeDesk(desk: Desk): void {
  try {
    onDesk(desk, desk.path, () => {});
  } catch (error) {
    throw cannotWrite(error, desk.path);
  }
}

/** Makes the desk, takes its lock and returns how to release it; throws if a process of another state folder has it. */
export async function lockDesk(desk: Desk): Promise<() => void> {
  let lock: LockResult;
  try {
    lock = await takeLock(desk.lock, thisProcess(), () => openOnDesk(desk));
  } catch (error) {
    throw cannotWrite(error, desk.path);
  }
  if (lock.taken) return lock.release;
  const owner = lock.owner === null ? 'another process' : `process ${lock.owner.pid} there`;
  throw new UserError(
    `another user, container or state folder drives a loop "${basename(desk.path)}" in this workspace (${owner} has locked ${desk.path}); end that loop first, or use another --name`,
  );
}

/** Takes the lock of a desk that was removed and made again, until this process ends; another process may be faster. */
export function relockDesk(desk: Desk): void {
  retakeLock(desk.lock, thisProcess(), () => openOnDesk(desk));
}

function openOnDesk(desk: Desk): number {
  return onDesk(desk, desk.path, (folder) => openLock(join(folder, 'lock')));
}

/** Another user may read the file only, which is enough to lock it. */
function openLock(path: string): number {
  try {
    return openRegular(path, 'lock', 0o666);
  } catch (error) {
    if (codeOf(error) === 'EACCES' || codeOf(error) === 'EPERM') return openRegular(path, 'read');
    throw error;
  }
}

/** Moves the desk to `.ralph/archive`; its new path relative to the workspace, or null if there is no desk. */
export function archiveDesk({ workspace, path, parts }: Desk): string | null {
  const [ralph = '', loops = '', name = ''] = parts;
  if (!isTaken(path)) return null;
  return below(workspace, [ralph, 'archive'], { make: true }, (archive) => {
    let number = 1;
    while (isTaken(join(archive, `${name}-${number}`))) number++;
    below(workspace, [ralph, loops], { make: false }, (folder) =>
      renameSync(join(folder, name), join(archive, `${name}-${number}`)),
    );
    return join(ralph, 'archive', `${name}-${number}`);
  });
}

/** Removes the desk with everything on it. */
export function removeDesk({ workspace, parts, path }: Desk): void {
  const [name = ''] = parts.slice(-1);
  if (!isTaken(path)) return;
  below(workspace, parts.slice(0, -1), { make: false }, (folder) =>
    rmSync(join(folder, name), { recursive: true, force: true }),
  );
}

/** Copies a log from the state to the desk, where its user and agents read it; only the end of one that is longer than `most`. */
export function copyToDesk(
  folder: LoopFolder,
  log: string,
  copy: string = folder.copyOnDesk(log),
  most: number = MAX_COPY_BYTES,
): void {
  onDesk(folder.desk, dirname(copy), (place) => {
    const target = join(place, basename(copy));
    rmSync(target, { recursive: true, force: true });
    copyEnd(log, target, most);
  });
}

function copyEnd(from: string, to: string, most: number): void {
  const source = openRegular(from, 'read');
  try {
    const { size } = fstatSync(source);
    if (size <= most) {
      // Exclusively: an agent may put a link there meanwhile. Some file systems can share the blocks of both.
      copyFileSync(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
      return;
    }
    const target = openRegular(to, 'create');
    try {
      writeSync(target, `${cutNote(most, size, from)}\n`);
      for (let at = size - most; at < size; at += PIECE_BYTES)
        writeSync(target, readAll(source, Math.min(PIECE_BYTES, size - at), at));
    } finally {
      closeSync(target);
    }
  } finally {
    closeSync(source);
  }
}

/** The first line of a copy that has only the end. An agent in a sandbox cannot read the state. */
function cutNote(most: number, size: number, log: string): string {
  return `[the last ${most} of ${size} bytes, since a copy has at most that many; the complete log, out of reach of a sandbox, is ${log}]`;
}

/** What a check prints fits, unless it is a flood: that would be written twice, and fill the disk. */
const MAX_COPY_BYTES = 64 * 1024 * 1024;
/** So that no copy is in memory as a whole. */
const PIECE_BYTES = 1024 * 1024;
