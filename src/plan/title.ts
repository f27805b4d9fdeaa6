/** A text of a plan as a title: on one line, and without characters that a terminal hides or reorders the text by. */
export function titleOf(text: string): string {
  return text
    .replaceAll(COMMENT, '')
    .replaceAll(REORDERING, '')
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim();
}

const COMMENT = /<!--.*?-->/gs;
const REORDERING = /[\u200E\u200F\u202A-\u202E\u2066-\u2069]/g;
