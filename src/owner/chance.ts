import { randomUuid } from '../files/random-uuid.ts';

/** A random number from 0 to 1, for the jitter of waits. */
export function chance(): number {
  return Number.parseInt(randomUuid().slice(0, 8), 16) / 2 ** 32;
}
