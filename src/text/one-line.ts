/** Texts that have to fit into a line, also those of an author who may want to deceive: words, commands, paths. */
import { joinLines } from '../loop/excerpt.ts';
import { hideKeys } from '../loop/secrets.ts';

/** Keeps text on one line. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\r\n]+/g, ' ');
}

/** A command on one line, cut where it is too long for one. */
export function brief(command: string): string {
  const line = joinLines(hideKeys(command), ' ⏎ ').replaceAll(/\s+/g, ' ');
  return line.length > 120 ? `${line.slice(0, 119)}…` : line;
}

/** A path as people write it: with `~` for the home folder. */
export function homely(path: string, home: string = ''): string {
  return home !== '' && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}

/**
 * An untrusted text on one line, with nothing in it that a terminal hides, moves or reorders: control characters, line
 * breaks, bidirectional overrides, invisible characters and blanks that only look like a space are written as escapes. So are
 * marks above and below a letter from the fourth on: a terminal drops them, or draws them over other lines.
 */
export function visible(text: string): string {
  return text.replaceAll(hiddenCharacters(), (character) =>
    character === ' ' ? character : (NAMED[character] ?? `\\u{${codeOf(character)}}`),
  );
}

let hidden: RegExp | null = null;

/**
 * Everything of the categories Other and Separator, what Unicode calls ignorable, the empty braille pattern, and piled up marks and
 * parts of Hangul letters. Made with the first text: it takes a millisecond.
 */
function hiddenCharacters(): RegExp {
  hidden ??=
    /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]|[\p{M}\u1160-\u11FF\uD7B0-\uD7FF](?<=[\p{M}\u1160-\u11FF\uD7B0-\uD7FF]{4})/gu;
  return hidden;
}

const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function codeOf(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16).padStart(4, '0');
}
