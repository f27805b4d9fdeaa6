import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { UnusableFile } from './files.ts';

/**
 * Reads what a person names: a regular file or a pipe, also through a link. A device is refused: it has no end, or waits for
 * the person to type. `tooLong` says what more than `maxBytes` are.
 */
export function readGiven(
  path: string,
  maxBytes: number,
  tooLong: string,
): { readonly text: string; readonly isPipe: boolean } {
  const found = statSync(path);
  if (found.isCharacterDevice() || found.isBlockDevice())
    throw new UnusableFile(path, 'a device; name a regular file or a pipe');
  const descriptor = openSync(path, 'r');
  try {
    return { text: readToEnd(descriptor, path, maxBytes, tooLong), isPipe: !found.isFile() };
  } finally {
    closeSync(descriptor);
  }
}

/** The same for what is open already, such as stdin. */
export function readToEnd(descriptor: number, name: string, maxBytes: number, tooLong: string): string {
  const pieces: Buffer[] = [];
  for (let size = 0; ;) {
    const piece = Buffer.alloc(PIECE_BYTES);
    const count = readSync(descriptor, piece);
    if (count === 0) return Buffer.concat(pieces).toString('utf8');
    size += count;
    if (size > maxBytes) throw new UnusableFile(name, tooLong);
    pieces.push(piece.subarray(0, count));
  }
}

const PIECE_BYTES = 64 * 1024;
