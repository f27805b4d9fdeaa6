/** Words of agents, checks and repositories as they are: without escape sequences, and with what is invisible named. */
import { sanitize } from '../src/text/terminal.ts';

export function shown(text: string): string {
  return sanitize(text, false);
}
