import { copyFileSync, statSync, utimesSync, type PathLike } from 'node:fs';

/** Copies an index with its time: git reads the files that are not older than it, because they may have changed since. */
export function copyIndexFile(from: PathLike, to: PathLike): void {
  const { atimeMs, mtimeMs } = statSync(from);
  copyFileSync(from, to);
  utimesSync(to, atimeMs / 1000, Math.floor(mtimeMs) / 1000);
}
