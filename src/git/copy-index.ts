import { closeSync, fstatSync, futimesSync, readFileSync, writeFileSync } from 'node:fs';
import { openRegular } from '../files/files.ts';

/**
 * Copies an index with its time: git reads the files that are not older than it, because they may have changed since. Follows no
 * link at either end.
 */
export function copyIndexFile(from: string | Buffer, to: string): void {
  const source = openRegular(from, 'read');
  try {
    const { atimeMs, mtimeMs } = fstatSync(source);
    const target = openRegular(to, 'create');
    try {
      writeFileSync(target, readFileSync(source));
      futimesSync(target, atimeMs / 1000, Math.floor(mtimeMs) / 1000);
    } finally {
      closeSync(target);
    }
  } finally {
    closeSync(source);
  }
}
