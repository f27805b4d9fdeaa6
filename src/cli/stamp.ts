import { localTime } from '../journal/times.ts';
import type { ViewOptions } from './options.ts';

/** The time at the start of a line: `[12:00:00] `, or with its date `[2026-02-05 12:00:00] `. */
export function stamp(at: number, isDated: boolean = false): string {
  const [date = '', time = ''] = localTime(at).split('T');
  return isDated ? `[${date} ${time}] ` : `[${time}] `;
}

/** The same for now, where the user asks for it. */
export function stampIf({ timestamps }: ViewOptions, isDated?: boolean): string {
  return timestamps === true ? stamp(Date.now(), isDated) : '';
}
