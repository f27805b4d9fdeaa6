/** Moments as people read them, in the local time zone. */

/** A moment in the local time zone, to the second: `2024-01-15T10:30:00`. */
export function localTime(moment: number): string {
  const date = new Date(moment);
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day}T${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** The same to the minute, as people read it: `2024-01-15 10:30`. */
export function localMinute(moment: number): string {
  return localTime(moment).slice(0, -3).replace('T', ' ');
}

/** A moment with microseconds: `2024-01-15T10:30:00.123000`. */
export function preciseLocalTime(moment: number): string {
  return `${localTime(moment)}.${String(moment % 1000).padStart(3, '0')}000`;
}

/** The time of day in the local time zone, with the date if it is not the day of `now`: `03:00:00`. */
export function clockTime(moment: number, now: number): string {
  const [date = '', time = ''] = localTime(moment).split('T');
  return date === localTime(now).split('T')[0] ? time : `${date} ${time}`;
}

/** The same without seconds: `03:00`. */
export function timeOfDay(moment: number, now: number): string {
  return clockTime(moment, now).slice(0, -3);
}

/** The time at the start of a line: `[12:00:00] `, or with its date `[2026-02-05 12:00:00] `. */
export function stamp(at: number, isDated: boolean = false): string {
  const [date = '', time = ''] = localTime(at).split('T');
  return isDated ? `[${date} ${time}] ` : `[${time}] `;
}

/** When a message was posted, in local time: `2026-02-05 10:00:00`; null if it does not say. */
export function postedAt({ ts }: { readonly ts: string }): string | null {
  const moment = Date.parse(ts);
  return Number.isNaN(moment) ? null : localTime(moment).replace('T', ' ');
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}
