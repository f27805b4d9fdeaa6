/** Quotes a word for a POSIX shell where it needs quotes. */
export function shellQuote(word: string): string {
  return /^[\w@%+=:,./<>-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
