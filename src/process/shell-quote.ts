/** A word quoted for a POSIX shell, where it needs to be. */
export function shellQuote(word: string): string {
  return /^[\w@%+=:,./<>-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
