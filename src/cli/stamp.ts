import { localTime } from '../journal/times.ts';

/** The time at the start of a line: `[12:00:00] `. */
export function stamp(at: number): string {
  return `[${localTime(at).split('T')[1] ?? ''}] `;
}
