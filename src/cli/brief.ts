import { hideKeys } from '../store/secrets.ts';

/** A command on one line, cut where it is too long for one. */
export function brief(command: string): string {
  const line = hideKeys(command)
    .trim()
    .replaceAll(/\s*\n\s*/g, ' ⏎ ')
    .replaceAll(/\s+/g, ' ');
  return line.length > 120 ? `${line.slice(0, 119)}…` : line;
}
