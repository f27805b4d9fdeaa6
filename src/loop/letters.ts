/** The text with Latin letters in place of their accented forms (`é` is `e`, `ß` is `ss`), for names of files and loops. */
export function plainLetters(text: string): string {
  return text
    .replaceAll(/[ßẞæÆœŒøØłŁđĐðÐþÞı]/g, withoutAccent)
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '');
}

function withoutAccent(letter: string): string {
  const small = letter.toLowerCase();
  const plain = OTHER_LETTERS.get(small) ?? small;
  return letter === small ? plain : plain.toUpperCase();
}

/** Letters that have no accent to take away. */
const OTHER_LETTERS: ReadonlyMap<string, string> = new Map([
  ['ß', 'ss'],
  ['æ', 'ae'],
  ['œ', 'oe'],
  ['ø', 'o'],
  ['ł', 'l'],
  ['đ', 'd'],
  ['ð', 'd'],
  ['þ', 'th'],
  ['ı', 'i'],
]);
