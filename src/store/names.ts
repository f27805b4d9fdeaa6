/** What is wrong with a loop's name, or null. A name is a folder's name, so it must not lead anywhere else. */
export function problemWithName(name: string): string | null {
  if (name === '') return 'it is empty';
  if (name.length > LONGEST) return `it has ${name.length} characters, at most ${LONGEST} are allowed`;
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name)) {
    return 'it must begin with a letter or digit and have only letters, digits, ".", "_" and "-"';
  }
  return null;
}

const LONGEST = 64;

/** The beginning of a name made from what a loop is about: `fix-the-parser`. */
export function nameFrom(text: string): string {
  const words = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, ' ')
    .trim()
    .split(' ')
    .slice(0, 4)
    .join('-');
  return words.slice(0, 30).replace(/-+$/, '') || 'loop';
}
