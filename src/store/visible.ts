/**
 * An untrusted text on one line, with nothing in it that a terminal hides, moves or reorders: control characters, line
 * breaks, bidirectional overrides, invisible characters and blanks that only look like a space are written as escapes.
 */
export function visible(text: string): string {
  return text.replaceAll(hiddenCharacters(), (character) =>
    character === ' ' ? character : (NAMED[character] ?? `\\u{${codeOf(character)}}`),
  );
}

let hidden: RegExp | null = null;

/**
 * Everything of the categories Other and Separator, what Unicode calls ignorable, and the empty braille pattern. Made with the
 * first text: it takes a millisecond.
 */
function hiddenCharacters(): RegExp {
  hidden ??= /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/gu;
  return hidden;
}

const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function codeOf(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16).padStart(4, '0');
}
