/**
 * Reads a file that another process may have put there.
 *
 * 1. Only a regular file is read: no link is followed, and a FIFO, a socket or a device neither blocks nor answers.
 * 2. At most `maxBytes` are read, also of a file that grows meanwhile.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

/** The content of a regular file; null if there is nothing at the path. Throws `NotRegular` or `TooLarge`. */
export function readRegular(path: string, maxBytes: number): Buffer | null {
  const file = openWithCare(path);
  if (file === null) return null;
  try {
    const stat = fstatSync(file);
    if (!stat.isFile()) throw new NotRegular(path);
    if (stat.size > maxBytes) throw new TooLarge(path, maxBytes);
    return readUpTo(file, path, maxBytes, stat.size);
  } finally {
    closeSync(file);
  }
}

/** The path leads to a link, a folder, a FIFO, a socket or a device. */
export class NotRegular extends Error {
  constructor(path: string) {
    super(`${path} is not a regular file`);
    this.name = 'NotRegular';
  }
}

class TooLarge extends Error {
  constructor(path: string, maxBytes: number) {
    super(`${path} is larger than ${maxBytes} bytes`);
    this.name = 'TooLarge';
  }
}

function openWithCare(path: string): number | null {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    // Linux refuses to open a link and a socket with these codes, the BSDs with others.
    if (typeof code === 'string' && SPECIAL.has(code)) throw new NotRegular(path);
    throw error;
  }
}

const SPECIAL: ReadonlySet<string> = new Set(['ELOOP', 'EMLINK', 'ENXIO', 'EOPNOTSUPP', 'ENODEV']);

function readUpTo(file: number, path: string, maxBytes: number, expected: number): Buffer {
  const chunks: Buffer[] = [];
  let total = 0;
  for (;;) {
    // One byte more than expected finds the end of the file without a second chunk.
    const chunk = Buffer.allocUnsafe(total === 0 ? expected + 1 : CHUNK_BYTES);
    const count = readSync(file, chunk, 0, chunk.length, null);
    if (count === 0) break;
    total += count;
    if (total > maxBytes) throw new TooLarge(path, maxBytes);
    chunks.push(chunk.subarray(0, count));
    if (count < chunk.length) break;
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
}

const CHUNK_BYTES = 64 * 1024;
