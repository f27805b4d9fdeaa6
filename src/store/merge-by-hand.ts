import { shellQuote } from '../process/shell-quote.ts';

/** The command with which a person merges a branch; a shell would interpret what git allows in its name. */
export function mergeByHand(branch: string): string {
  return `git merge ${shellQuote(branch)}`;
}
