/**
 * The workspace folder of a loop: its folder in the workspace, where an agent or a repository can put anything.
 *
 * 1. Nothing on the way to a file in the workspace folder is followed out of it (`files/below.ts`).
 * 2. What an agent puts in the place of a folder in the workspace folder is moved aside, unread.
 * 3. The owner holds an advisory lock on it: another user, or a container that shares the workspace, has another state
 *    folder and would otherwise drive a loop on the same workspace folder. Steps of a session, which take milliseconds, go without it.
 */
import { closeSync, constants, copyFileSync, fstatSync, renameSync, rmSync, writeSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { below } from '../files/below.ts';
import { codeOf, foundAt, isTaken, openRegular, readAll, UnusableFile, readRegular } from '../files/files.ts';
import { replaceFile, type ReplaceOptions, createFile } from '../files/replace-file.ts';
import { retakeLock, takeLock, type LockResult } from '../home/lock.ts';
import { thisProcess } from '../home/lock-owner.ts';
import type { WorkspaceFolder, LoopFolder } from '../home/home.ts';
import { UserError, exitCodeFor, systemErrorText } from '../user-error.ts';
import { SETTINGS_FILE } from '../settings/settings.ts';

/** Calls `use` with a path to a folder of the workspace folder that is valid during the call; makes the folder where it is missing. */
export function inWorkspaceFolder<T>(
  workspaceFolder: WorkspaceFolder,
  folder: string,
  use: (path: string) => T,
): T {
  const parts = relative(workspaceFolder.workspace, folder).split('/').filter(Boolean);
  const onFolder = (): T => below(workspaceFolder.workspace, parts, { make: true }, use);
  try {
    return onFolder();
  } catch (error) {
    if (!(error instanceof UnusableFile) || !clearWay(workspaceFolder, parts)) throw error;
    return onFolder();
  }
}

/** Moves the first thing aside that is no folder on the way to a folder of the workspace folder; whether there was one. */
function clearWay({ workspace, parts: own }: WorkspaceFolder, parts: readonly string[]): boolean {
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

/** Writes a file of the workspace folder as a whole; makes its folder where it is missing. */
export function putInWorkspaceFolder(
  workspaceFolder: WorkspaceFolder,
  path: string,
  content: string,
  options: ReplaceOptions = {},
): void {
  inWorkspaceFolder(workspaceFolder, dirname(path), (folder) =>
    replaceFile(join(folder, basename(path)), content, options),
  );
}

/** Makes the workspace folder where it is missing. */
export function makeWorkspaceFolder(workspaceFolder: WorkspaceFolder): void {
  try {
    inWorkspaceFolder(workspaceFolder, workspaceFolder.path, () => {});
  } catch (error) {
    throw cannotWrite(error, workspaceFolder.path);
  }
}

/** Makes the workspace folder, takes its lock and returns how to release it; throws if a process of another state folder has it. */
export async function lockWorkspaceFolder(workspaceFolder: WorkspaceFolder): Promise<() => void> {
  let lock: LockResult;
  try {
    lock = await takeLock(workspaceFolder.lock, thisProcess(), () => openWorkspaceFolder(workspaceFolder));
  } catch (error) {
    throw cannotWrite(error, workspaceFolder.path);
  }
  if (lock.taken) return lock.release;
  const owner = lock.owner === null ? 'another process' : `process ${lock.owner.pid} there`;
  throw new UserError(
    `another user, container or state folder drives a loop "${basename(workspaceFolder.path)}" in this workspace (${owner} has locked ${workspaceFolder.path}); end that loop first, or use another --name`,
  );
}

/** Takes the lock of a workspace folder that was removed and made again, until this process ends; another process may be faster. */
export function relockWorkspaceFolder(workspaceFolder: WorkspaceFolder): void {
  retakeLock(workspaceFolder.lock, thisProcess(), () => openWorkspaceFolder(workspaceFolder));
}

function openWorkspaceFolder(workspaceFolder: WorkspaceFolder): number {
  return inWorkspaceFolder(workspaceFolder, workspaceFolder.path, (folder) => openLock(join(folder, 'lock')));
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

/** Moves the workspace folder to `.ralph/archive`; its new path relative to the workspace, or null if there is no workspace folder. */
export function archiveWorkspaceFolder({ workspace, path, parts }: WorkspaceFolder): string | null {
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

/** Removes the workspace folder with everything on it. */
export function removeWorkspaceFolder({ workspace, parts, path }: WorkspaceFolder): void {
  const [name = ''] = parts.slice(-1);
  if (!isTaken(path)) return;
  below(workspace, parts.slice(0, -1), { make: false }, (folder) =>
    rmSync(join(folder, name), { recursive: true, force: true }),
  );
}

/** Copies a log from the state to the workspace folder, where its user and agents read it; only the end of one that is longer than `most`. */
export function copyToWorkspaceFolder(
  folder: LoopFolder,
  log: string,
  copy: string = folder.copyInWorkspaceFolder(log),
  most: number = MAX_COPY_BYTES,
): void {
  inWorkspaceFolder(folder.workspaceFolder, dirname(copy), (place) => {
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

/** Creates `.ralph` with a `.gitignore` that excludes everything but the settings that a team shares. */
export function prepareFolder(workspace: string): void {
  inRalphFolder(workspace, (folder) => {
    const ignore = join(folder, '.gitignore');
    const written = readRegular(ignore)?.toString('utf8');
    // Keep a file that the user wrote.
    if (written === undefined) replaceFile(ignore, IGNORE_ALL_BUT_SETTINGS);
  });
}

/** Calls `use` with a path to `.ralph` that is valid during the call; refuses a `.ralph` that is no folder of its own. */
export function inRalphFolder<T>(workspace: string, use: (folder: string) => T): T {
  return below(workspace, ['.ralph'], { make: true }, use);
}

const IGNORE_ALL_BUT_SETTINGS = '*\n!settings.json\n';

/** Writes the shared settings; `backup` is the path of the copy of earlier settings. */
export function writeSettings(workspace: string, settings: object): { readonly backup: string | null } {
  try {
    prepareFolder(workspace);
    return inRalphFolder(workspace, (folder) => {
      const path = join(folder, basename(SETTINGS_FILE));
      const backup = keepCopy(path);
      replaceFile(path, `${JSON.stringify(settings, null, 2)}\n`, { flush: true });
      return { backup: backup === null ? null : join('.ralph', basename(backup)) };
    });
  } catch (error) {
    // The error names a temporary file, which means nothing to the user.
    throw unwritable(error, SETTINGS_FILE);
  }
}

/** Copies a file beside itself under a free name; null if there is no file. */
function keepCopy(path: string): string | null {
  const content = readRegular(path);
  if (content === null) return null;
  let copy = `${path}.bak`;
  for (let number = 1; !createFile(copy, content.toString('utf8')); number++) copy = `${path}.bak.${number}`;
  return copy;
}

/** An error of the file system as a message for the user; any other error as it is. */
export function cannotWrite(error: unknown, path: string): unknown {
  const isNamed = error instanceof Error && 'path' in error && typeof error.path === 'string';
  return unwritable(error, isNamed ? String(error.path) : path);
}

function unwritable(error: unknown, path: string): unknown {
  if (error instanceof UnusableFile)
    return new UserError(`cannot write ${path}: ${error.message}; remove it or move it away`, 2, {
      cause: error,
    });
  if (error instanceof UserError || !(error instanceof Error) || !('code' in error)) return error;
  return new UserError(systemErrorText(error, path), exitCodeFor(error), { cause: error });
}
