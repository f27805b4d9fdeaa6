import { joinLines } from '../loop/excerpt.ts';
import { hideKeys } from '../loop/secrets.ts';

/** A command on one line, cut where it is too long for one. */
export function brief(command: string): string {
  const line = joinLines(hideKeys(command), ' ⏎ ').replaceAll(/\s+/g, ' ');
  return line.length > 120 ? `${line.slice(0, 119)}…` : line;
}
