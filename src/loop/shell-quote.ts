/** Quotes a word for a POSIX shell, unless no shell gives a meaning to any of its characters. */
export function shellQuote(word: string): string {
  return SAFE.test(word) ? word : inQuotes(word);
}

/** Not `=` at the start: zsh replaces `=ls` by the path of the program. */
const SAFE = /^[\w@%+:,./-][\w@%+=:,./-]*$/;

/** A word in single quotes, in which a POSIX shell interprets nothing. */
export function inQuotes(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** The command with which a person merges a branch; a shell would interpret what git allows in its name. */
export function mergeByHand(branch: string): string {
  return `git merge ${shellQuote(branch)}`;
}
