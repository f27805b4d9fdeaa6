/** Quotes a word for a POSIX shell where it needs quotes. */
export function shellQuote(word: string): string {
  return /^[\w@%+=:,./<>-]+$/.test(word) ? word : inQuotes(word);
}

/** A word in single quotes, in which a POSIX shell interprets nothing. */
export function inQuotes(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
