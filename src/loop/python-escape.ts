/**
 * Tokens, escapes and character classes of a pattern in Python's syntax. The output is for JavaScript's `u` mode, which
 * reads whole code points, as Python does.
 */

/** A position in a pattern; every read function advances it. */
export interface Cursor {
  readonly source: string;
  index: number;
}

/** Ends the translation; `translatePattern` catches it. */
export class PatternError extends Error {
  readonly position: number;

  constructor(message: string, position: number) {
    super(message);
    this.position = position;
  }
}

/** Rejects the pattern: it is invalid or not supported at this position. */
export function reject(message: string, position: number): never {
  throw new PatternError(message, position);
}

/** Reads one token: a code point, or a backslash and the next code point; an empty string at the end. */
export function take(cursor: Cursor): string {
  const start = cursor.index;
  const char = codePoint(cursor.source, start);
  const escaped = char === '\\' ? codePoint(cursor.source, start + 1) : '';
  if (char === '\\' && escaped === '') {
    reject('the pattern ends with a lone backslash; write \\\\ for a backslash', start);
  }
  cursor.index += char.length + escaped.length;
  return char + escaped;
}

/** The meaning of an escape sequence. */
export type Escape =
  /** One character. */
  | { readonly kind: 'literal'; readonly code: number }
  /** A set of characters, such as `\d`. */
  | { readonly kind: 'set'; readonly source: string }
  /** A position between characters, such as `\A`. */
  | { readonly kind: 'anchor'; readonly source: string }
  /** What the group of this number matched. */
  | { readonly kind: 'reference'; readonly group: number };

// Python's \d, \w and \b cover all of Unicode, JavaScript's only ASCII, so they are spelled out. Inside a class \W
// stays as it is, since `u` mode cannot express it there. \s differs only in U+FEFF (JavaScript) and U+001C to U+001F,
// U+0085 (Python).
const WORD = String.raw`\p{L}\p{N}_`;
const SETS = new Map([
  ['d', { pattern: String.raw`\p{Nd}`, class: String.raw`\p{Nd}` }],
  ['D', { pattern: String.raw`\P{Nd}`, class: String.raw`\P{Nd}` }],
  ['s', { pattern: String.raw`\s`, class: String.raw`\s` }],
  ['S', { pattern: String.raw`\S`, class: String.raw`\S` }],
  ['w', { pattern: `[${WORD}]`, class: WORD }],
  ['W', { pattern: `[^${WORD}]`, class: String.raw`\W` }],
]);
const ANCHORS = new Map([
  ['A', '^'],
  ['Z', '$'],
  ['b', `(?:(?<=[${WORD}])(?![${WORD}])|(?<![${WORD}])(?=[${WORD}]))`],
  ['B', `(?:(?<=[${WORD}])(?=[${WORD}])|(?<![${WORD}])(?![${WORD}]))`],
]);
const CONTROLS = new Map([
  ['a', 0x07],
  ['b', 0x08],
  ['t', 0x09],
  ['n', 0x0a],
  ['v', 0x0b],
  ['f', 0x0c],
  ['r', 0x0d],
]);
const HEX_LENGTHS = new Map([
  ['x', 2],
  ['u', 4],
  ['U', 8],
]);
const LAST_CODE_POINT = 0x10ffff;
const LAST_OCTAL = 0o377;

/** Reads the escape at the cursor; its meaning differs inside and outside of a class. */
export function readEscape(cursor: Cursor, place: 'pattern' | 'class'): Escape {
  const start = cursor.index;
  const letter = take(cursor).slice(1);
  const set = SETS.get(letter);
  if (set !== undefined) return { kind: 'set', source: set[place] };
  const anchor = place === 'pattern' ? ANCHORS.get(letter) : undefined;
  if (anchor !== undefined) return { kind: 'anchor', source: anchor };
  const control = CONTROLS.get(letter);
  if (control !== undefined) return { kind: 'literal', code: control };
  const hexLength = HEX_LENGTHS.get(letter);
  if (hexLength !== undefined) return readHex(cursor, start, hexLength);
  if (/[0-9]/.test(letter)) return readNumber(cursor, start, place);
  if (letter === 'N') reject('\\N{…} is not supported; write the character itself or \\uXXXX', start);
  if (/[a-zA-Z]/.test(letter)) reject(`bad escape \\${letter}`, start);
  return { kind: 'literal', code: letter.codePointAt(0) ?? 0 };
}

/** Translates the character class whose `[` is at the cursor. */
export function readClass(cursor: Cursor): string {
  const start = cursor.index++;
  const negated = cursor.source[cursor.index] === '^';
  if (negated) cursor.index++;
  const members: string[] = [];
  // A leading `]` is a member, not the end.
  while (members.length === 0 || cursor.source[cursor.index] !== ']') {
    const from = cursor.index;
    const low = readMember(cursor, start);
    const dash = cursor.source[cursor.index] === '-' && cursor.source[cursor.index + 1] !== ']';
    if (!dash) {
      members.push(memberSource(low));
      continue;
    }
    cursor.index++;
    const high = readMember(cursor, start);
    if (low.kind !== 'literal' || high.kind !== 'literal' || low.code > high.code) {
      reject(`bad character range ${cursor.source.slice(from, cursor.index)}`, from);
    }
    members.push(`${memberSource(low)}-${memberSource(high)}`);
  }
  cursor.index++;
  return `[${negated ? '^' : ''}${members.join('')}]`;
}

/** Writes a character so that it matches only itself. */
export function literal(code: number, place: 'pattern' | 'class'): string {
  const char = String.fromCodePoint(code);
  // Surrogates are escaped; otherwise two in a row would become one character.
  if (/[\p{Cc}\p{Cs}\u2028\u2029]/u.test(char)) return `\\u{${code.toString(16)}}`;
  const special = place === 'class' ? /[\^\\[\]-]/ : /[\^$\\.*+?()[\]{}|]/;
  return special.test(char) ? `\\${char}` : char;
}

function readMember(cursor: Cursor, start: number): Escape {
  if (cursor.source[cursor.index] === '\\') return readEscape(cursor, 'class');
  const code = take(cursor).codePointAt(0) ?? reject('this character class has no closing ]', start);
  return { kind: 'literal', code };
}

function memberSource(member: Escape): string {
  if (member.kind === 'literal') return literal(member.code, 'class');
  return member.kind === 'set' ? member.source : '';
}

function readHex(cursor: Cursor, start: number, length: number): Escape {
  const end = start + 2 + length;
  const digits = /^[0-9a-fA-F]*/.exec(cursor.source.slice(start + 2, end))?.[0] ?? '';
  const escape = cursor.source.slice(start, start + 2) + digits;
  if (digits.length < length) reject(`incomplete escape ${escape}: it takes ${length} digits`, start);
  const code = Number.parseInt(digits, 16);
  if (code > LAST_CODE_POINT) reject(`bad escape ${escape}: there is no such character`, start);
  cursor.index = end;
  return { kind: 'literal', code };
}

/** Octal if it starts with 0, has three octal digits or is in a class; otherwise a group number. */
function readNumber(cursor: Cursor, start: number, place: 'pattern' | 'class'): Escape {
  const ahead = cursor.source.slice(start + 1, start + 4);
  const octal = (place === 'class' ? /^[0-7]{1,3}/ : /^(?:0[0-7]{0,2}|[0-7]{3})/).exec(ahead)?.[0];
  if (octal !== undefined) {
    const code = Number.parseInt(octal, 8);
    if (code > LAST_OCTAL) reject(`octal escape \\${octal} is beyond \\377`, start);
    cursor.index = start + 1 + octal.length;
    return { kind: 'literal', code };
  }
  if (place === 'class') reject(`bad escape \\${ahead.slice(0, 1)}`, start);
  const digits = /^[0-9]{1,2}/.exec(ahead)?.[0] ?? '';
  cursor.index = start + 1 + digits.length;
  return { kind: 'reference', group: Number(digits) };
}

function codePoint(source: string, index: number): string {
  const code = source.codePointAt(index);
  return code === undefined ? '' : String.fromCodePoint(code);
}
