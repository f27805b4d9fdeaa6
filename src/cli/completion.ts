/**
 * `ralph completion`: the script that lets a shell complete the command. It asks `ralph complete` of the very command that is typed, so that
 * it fits each version; what is typed reaches it as arguments.
 */
import { readFileSync } from 'node:fs';
import { print } from './print.ts';

export function completion(shell: string): number {
  print(readFileSync(new URL(`../../completions/ralph.${shell}`, import.meta.url), 'utf8'));
  return 0;
}
