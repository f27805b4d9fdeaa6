import { localTime } from '../journal/times.ts';

/** The time at the start of a line: `[12:00:00] `, or with its date `[2026-02-05 12:00:00] `. */
export function stamp(at: number, isDated: boolean = false): string {
  const [date = '', time = ''] = localTime(at).split('T');
  return isDated ? `[${date} ${time}] ` : `[${time}] `;
}
