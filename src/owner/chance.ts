import { randomUUID } from 'node:crypto';

/** A random number from 0 to 1, for the jitter of waits. */
export function chance(): number {
  return Number.parseInt(randomUUID().slice(0, 8), 16) / 2 ** 32;
}
