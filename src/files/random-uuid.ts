import { closeSync, openSync, readSync } from 'node:fs';

/** A random UUID that cannot be guessed. It comes from the kernel: loading node:crypto takes milliseconds, and a session waits for its hook. */
export function randomUuid(): string {
  const bytes = fresh();
  // Version 4, variant 1, as in RFC 9562.
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

const UUID_BYTES = 16;
/** Enough for one step of a loop. */
const POOL_BYTES = 32 * UUID_BYTES;

let pool: Buffer = Buffer.alloc(0);

/** Bytes that no other call gets. */
function fresh(): Buffer {
  if (pool.length < UUID_BYTES)
    pool = fromKernel() ?? process.getBuiltinModule('node:crypto').randomBytes(POOL_BYTES);
  const bytes = pool.subarray(0, UUID_BYTES);
  pool = pool.subarray(UUID_BYTES);
  return bytes;
}

/** Null where there is no such device. */
function fromKernel(): Buffer | null {
  try {
    const descriptor = openSync('/dev/urandom', 'r');
    try {
      const bytes = Buffer.alloc(POOL_BYTES);
      return readSync(descriptor, bytes) === POOL_BYTES ? bytes : null;
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return null;
  }
}
