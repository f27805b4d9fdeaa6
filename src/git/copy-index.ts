import {
  chmodSync,
  copyFileSync,
  linkSync,
  lstatSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  type PathLike,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { processes } from '../process/process.ts';
import { bytes, gitPath, type Repository } from './git.ts';
import { indexFile, stampOf } from './index-file.ts';
import { isPlain } from './plain-repository.ts';

/** Copies an index with its time: git reads the files that are not older than it, because they may have changed since. */
export function copyIndexFile(from: PathLike, to: PathLike): void {
  const { atimeMs, mtimeMs } = statSync(from);
  copyFileSync(from, to);
  utimesSync(to, atimeMs / 1000, Math.floor(mtimeMs) / 1000);
}

/**
 * Replaces the user's index by a copy of another one and returns its new stamp; null if it is no longer the one with this stamp,
 * if another git is changing it, or if only git can write it. A kill in between leaves a lock that `removeOwnLock` recognises.
 */
export async function replaceIndex(
  repository: Repository,
  stamp: string,
  by: string,
): Promise<string | null> {
  const index = (await isPlain(repository)) ? await indexFile(repository) : null;
  if (index === null) return null;
  const [path, lock] = [bytes(index.path), bytes(lockOf(index.path))];
  const own = bytes(`${index.path}${OWN}${process.pid}-${processes.birth(process.pid)?.startTime ?? ''}`);
  try {
    copyIndexFile(by, own);
    chmodSync(own, statSync(path).mode & PERMISSIONS);
    // Fails if another git holds the index.
    linkSync(own, lock);
  } catch {
    rmSync(own, { force: true });
    return null;
  }
  try {
    if (stampOf(index.path) !== stamp) return null;
    renameSync(lock, path);
    return stampOf(index.path);
  } catch {
    return null;
  } finally {
    // After a rename another git may already hold the index.
    if (isOneFile(lock, own)) rmSync(lock, { force: true });
    rmSync(own, { force: true });
  }
}

const PERMISSIONS = 0o777;
const OWN = '.ralph-';

/** The file that git holds an index with. */
function lockOf(index: string): string {
  return `${index}.lock`;
}

/** Removes a lock of the user's index that a killed Ralph has left: another name of it says which process made it. */
export async function removeOwnLock(repository: Repository): Promise<void> {
  const index = await gitPath(repository, ['--git-path', 'index']);
  const [folder, name] = [dirname(index), basename(index)];
  for (const other of readdirSync(bytes(folder), 'latin1')) {
    if (!other.startsWith(`${name}${OWN}`)) continue;
    const [pid, startTime] = other.slice(name.length + OWN.length).split('-');
    const birth = processes.birth(Number(pid));
    if (birth !== null && birth.startTime === startTime) continue;
    const own = bytes(join(folder, other));
    if (isOneFile(bytes(lockOf(index)), own)) rmSync(bytes(lockOf(index)), { force: true });
    rmSync(own, { force: true });
  }
}

function isOneFile(a: Buffer, b: Buffer): boolean {
  const [one, other] = [a, b].map((path) => lstatSync(path, { throwIfNoEntry: false }));
  return one !== undefined && one.ino === other?.ino && one.dev === other.dev;
}
