/** A text of a plan as a title: on one line, and without characters that a terminal hides or reorders the text by. */
export function titleOf(text: string): string {
  return withoutComments(text)
    .replaceAll(REORDERING, '')
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim();
}

function withoutComments(text: string): string {
  let [kept, rest] = ['', text];
  for (;;) {
    const start = rest.indexOf('<!--');
    const end = start < 0 ? -1 : rest.indexOf('-->', start + '<!--'.length);
    if (end < 0) return kept + rest;
    kept += rest.slice(0, start);
    rest = rest.slice(end + '-->'.length);
  }
}

const REORDERING = /[\u200E\u200F\u202A-\u202E\u2066-\u2069]/g;
