/** A word as one would type it. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./<>-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
