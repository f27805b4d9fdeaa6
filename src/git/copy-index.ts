import {
  chmodSync,
  constants,
  copyFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  type PathLike,
} from 'node:fs';
import { codeOf } from '../files/files.ts';
import { bytes, type Repository } from './git.ts';
import { indexFile, stampOf } from './index-file.ts';
import { isPlain } from './plain-repository.ts';

/** Copies an index with its time: git reads the files that are not older than it, because they may have changed since. */
export function copyIndexFile(from: PathLike, to: PathLike, mode = 0): void {
  const { atimeMs, mtimeMs } = statSync(from);
  copyFileSync(from, to, mode);
  utimesSync(to, atimeMs / 1000, Math.floor(mtimeMs) / 1000);
}

/**
 * Replaces the user's index by a copy of another one; false if it is no longer the one with this stamp, if another git is
 * changing it, or if only git can write it.
 */
export async function replaceIndex(repository: Repository, stamp: string, by: string): Promise<boolean> {
  const index = (await isPlain(repository)) ? await indexFile(repository) : null;
  if (index === null) return false;
  // The file that git holds the index with.
  const lock = bytes(`${index.path}.lock`);
  try {
    copyIndexFile(by, lock, constants.COPYFILE_EXCL);
    chmodSync(lock, statSync(bytes(index.path)).mode & PERMISSIONS);
    const isSame = stampOf(index.path) === stamp;
    if (isSame) renameSync(lock, bytes(index.path));
    else rmSync(lock);
    return isSame;
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') rmSync(lock, { force: true });
    return false;
  }
}

const PERMISSIONS = 0o777;
