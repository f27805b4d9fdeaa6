/**
 * The status line of a loop: its name, then `parts` from the most important to the least. A long name is shortened, so that
 * the first part is never cut on a terminal of usual width.
 */
export function statusLine(name: string, parts: readonly string[], room: number): string {
  const text = parts.join(' · ');
  const left = Math.max(LEAST_NAME_LENGTH, room - text.length - ': '.length);
  const shown = name.length <= left ? name : `${name.slice(0, left - 1)}…`;
  return `${shown}: ${text}`.slice(0, Math.max(0, room));
}

/** A shorter name says nothing. */
const LEAST_NAME_LENGTH = 12;
