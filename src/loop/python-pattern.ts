/**
 * Translates regular expressions of Python's `re.search` to JavaScript. One pass over the pattern; the stack holds the
 * open groups.
 *
 * P1. A pattern is translated with Python's meaning, or rejected with a position; nothing is copied unread.
 * P2. The output needs the flag `u` and perhaps `i`, never `m` or `s`: JavaScript knows more line ends than Python, so
 *     `^`, `$` and `.` are spelled out.
 * P3. Positions are those of Python's `re.error.pos`; a bad range in a class is always at its first character.
 *
 * Known differences: \W inside a class and everything under (?a) (see `python-escape.ts`); a look-behind may have a
 * variable width, which Python rejects; a repeated group that can match the empty string may end one repetition earlier or
 * later; an empty match may be inside a surrogate pair; \B matches in an empty text, as in Python from 3.14 on.
 */
import { type Cursor, literal, readClass, readEscape, reject, PatternError, take } from './python-escape.ts';

/** Translates a pattern, or says what is wrong with it and where. */
export function translatePattern(source: string): PatternTranslation {
  try {
    return { ok: true, ...translate(source) };
  } catch (error) {
    if (error instanceof PatternError) return { ok: false, message: error.message, position: error.position };
    throw error;
  }
}

/** The arguments of `new RegExp`, or an error with its UTF-16 index in the given pattern. */
export type PatternTranslation =
  | { readonly ok: true; readonly source: string; readonly flags: string }
  | { readonly ok: false; readonly message: string; readonly position: number };

interface Scan extends Cursor {
  readonly flags: Set<string>;
  /** The translation so far. */
  readonly out: string[];
  /** The groups still open, the whole pattern first. */
  readonly open: [Group, ...Group[]];
  /** By group number - 1: whether a reference to the group is possible. */
  readonly captures: ('open' | 'matched' | 'doubtful')[];
  readonly names: Map<string, number>;
  /** What a quantifier repeats. */
  item: Item | null;
  parentheses: number;
}

interface Item {
  readonly kind: 'atom' | 'anchor' | 'look-around' | 'repeat';
  /** Its index in `out`. */
  readonly at: number;
  /** Number of capturing groups opened before it. */
  readonly capturesBefore: number;
}

interface Group extends Item {
  /** The position of its parenthesis. */
  readonly start: number;
  /** Number of capturing groups opened before its content: its own number, if it captures. */
  readonly capturesOutside: number;
  readonly type: 'capture' | 'plain' | 'ahead' | 'not-ahead' | 'behind' | 'not-behind';
  alternatives: number;
}

// V8 allows 65,535 captures, and some ten thousand nested groups crash it without an exception.
const MAX_GROUPS = 1000;
const MAX_REPEAT = 2 ** 32 - 2;

const QUANTIFIER = /[*+?]|\{(?!\})(?<least>[0-9]*)(?:(?<comma>,)(?<most>[0-9]*))?\}/y;
/** Not a constant: making it takes half a millisecond, and few patterns have names. */
const identifier = (): RegExp => /^[\p{XID_Start}_]\p{XID_Continue}*$/u;

function translate(source: string): { source: string; flags: string } {
  const scan: Scan = {
    source,
    index: 0,
    flags: new Set(),
    out: [],
    open: [
      {
        kind: 'atom',
        type: 'plain',
        start: 0,
        at: 0,
        capturesBefore: 0,
        capturesOutside: 0,
        alternatives: 1,
      },
    ],
    captures: [],
    names: new Map(),
    item: null,
    parentheses: 0,
  };
  while (scan.index < source.length) step(scan);
  if (scan.open.length > 1) reject('this group has no closing )', innermost(scan).start);
  return { source: scan.out.join(''), flags: scan.flags.has('i') ? 'iu' : 'u' };
}

function step(scan: Scan): void {
  switch (scan.source.charAt(scan.index)) {
    case '\\':
      return translateEscape(scan);
    case '[':
      return append(scan, 'atom', readClass(scan));
    case '(':
      return openGroup(scan);
    case ')':
      return closeGroup(scan);
    case '|':
      return nextAlternative(scan);
    case '*':
    case '+':
    case '?':
    case '{':
      return repeat(scan);
    default:
      return translateSymbol(scan);
  }
}

function translateSymbol(scan: Scan): void {
  const token = take(scan);
  if (token === '.') return append(scan, 'atom', scan.flags.has('s') ? '[\\s\\S]' : '[^\\n]');
  if (token === '^') return append(scan, 'anchor', scan.flags.has('m') ? '(?<=^|\\n)' : '^');
  if (token === '$') return append(scan, 'anchor', scan.flags.has('m') ? '(?=\\n|$)' : '(?=\\n?$)');
  if (scan.flags.has('x') && ' \t\n\r\v\f'.includes(token)) return;
  if (scan.flags.has('x') && token === '#') skipPast(scan, '\n');
  else append(scan, 'atom', literal(token.codePointAt(0) ?? 0, 'pattern'));
}

function append(scan: Scan, kind: Item['kind'], text: string): void {
  scan.item = { kind, at: scan.out.length, capturesBefore: scan.captures.length };
  scan.out.push(text);
}

function translateEscape(scan: Scan): void {
  const start = scan.index;
  const escape = readEscape(scan, 'pattern');
  switch (escape.kind) {
    case 'literal':
      return append(scan, 'atom', literal(escape.code, 'pattern'));
    case 'set':
      return append(scan, 'atom', escape.source);
    case 'anchor':
      return append(scan, 'anchor', escape.source);
    case 'reference':
      if (escape.group > scan.captures.length)
        reject(`there is no group ${escape.group} before this`, start + 1);
      checkReference(scan, escape.group, start);
      // Wrapped, so that a following digit does not become part of the number.
      return append(scan, 'atom', `(?:\\${escape.group})`);
  }
}

/**
 * A reference to a group that did not match fails in Python and matches the empty string in JavaScript, so it is rejected
 * unless the group has certainly matched (P1).
 */
function checkReference(scan: Scan, group: number, position: number): void {
  const state = scan.captures[group - 1];
  if (state === 'open') reject('a group cannot refer to itself while it is open', position);
  const behind = scan.open.find(({ type }) => type === 'behind' || type === 'not-behind');
  if (behind !== undefined && group > behind.capturesOutside) {
    reject('a look-behind cannot refer to a group inside itself', scan.index);
  }
  if (state === 'doubtful') {
    reject('a reference to a group that may not have matched is not supported', position);
  }
}

/** Marks the groups after the first `count` as possibly not matched. */
function markDoubtful(scan: Scan, count: number): void {
  scan.captures.fill('doubtful', count);
}

function repeat(scan: Scan): void {
  const start = scan.index;
  QUANTIFIER.lastIndex = start;
  const found = QUANTIFIER.exec(scan.source);
  if (found === null) {
    take(scan);
    return append(scan, 'atom', '\\{');
  }
  scan.index += found[0].length;
  const { source: quantifier, least } = readQuantifier(found, start);
  const { item } = scan;
  if (item === null || item.kind === 'anchor') reject('nothing to repeat', start);
  if (item.kind === 'repeat') reject('multiple repeat: this already has a quantifier', start);
  const next = scan.source[scan.index];
  if (next === '+') reject('possessive quantifiers (*+ ++ ?+ {…}+) are not supported', start);
  if (next === '?') scan.index++;
  if (least === 0) markDoubtful(scan, item.capturesBefore);
  // JavaScript cannot repeat a bare look-around.
  const wrap = item.kind === 'look-around';
  if (wrap) scan.out[item.at] = `(?:${scan.out[item.at]}`;
  scan.out.push(`${wrap ? ')' : ''}${quantifier}${next === '?' ? '?' : ''}`);
  scan.item = { ...item, kind: 'repeat' };
}

function readQuantifier(found: RegExpExecArray, start: number): { source: string; least: number } {
  const { least: low = '', comma = '', most: high = '' } = found.groups ?? {};
  if (!found[0].startsWith('{')) return { source: found[0], least: found[0] === '+' ? 1 : 0 };
  const least = Number(low);
  const most = high === '' ? least : Number(high);
  if (Math.max(least, most) > MAX_REPEAT) reject('the number of repetitions is too large', start + 1);
  if (most < least) reject(`the minimum number of repetitions exceeds the maximum: ${found[0]}`, start + 1);
  return { source: `{${least}${comma}${high === '' ? '' : most}}`, least };
}

function openGroup(scan: Scan): void {
  const start = scan.index++;
  if (++scan.parentheses > MAX_GROUPS) reject(`more than ${MAX_GROUPS} groups are not supported`, start);
  if (scan.source[scan.index] !== '?') return enter(scan, start, 'capture', '(');
  scan.index++;
  const char = takeOrReject(scan);
  switch (char) {
    case ':':
      return enter(scan, start, 'plain', '(?:');
    case '=':
      return enter(scan, start, 'ahead', '(?=');
    case '!':
      return enter(scan, start, 'not-ahead', '(?!');
    case '<':
      return openLookBehind(scan, start);
    case 'P':
      return openNamed(scan, start);
    case '#':
      if (!skipPast(scan, ')')) reject('this comment has no closing )', start);
      return;
    case '>':
      return reject('atomic groups (?>…) are not supported', start);
    case '(':
      return reject('conditional groups (?(…)…) are not supported', start);
    default:
      if ('aiLmsux-'.includes(char)) return readFlags(scan, start, char);
      return reject(`unknown extension ?${char}`, start + 1);
  }
}

function openLookBehind(scan: Scan, start: number): void {
  const char = takeOrReject(scan);
  if (char === '=') return enter(scan, start, 'behind', '(?<=');
  if (char === '!') return enter(scan, start, 'not-behind', '(?<!');
  reject(`unknown extension ?<${char}; a named group is (?P<name>…)`, start + 1);
}

function openNamed(scan: Scan, start: number): void {
  const char = takeOrReject(scan);
  const position = scan.index;
  if (char === '=') {
    const name = readName(scan, ')');
    const group = scan.names.get(name) ?? reject(`there is no group named ${name} before this`, position);
    checkReference(scan, group, position);
    return append(scan, 'atom', `\\k<${name}>`);
  }
  if (char !== '<') reject(`unknown extension ?P${char}`, start + 1);
  const name = readName(scan, '>');
  if (scan.names.has(name)) reject(`there is already a group named ${name}`, position);
  scan.names.set(name, scan.captures.length + 1);
  enter(scan, start, 'capture', `(?<${name}>`);
}

function readName(scan: Scan, terminator: string): string {
  const start = scan.index;
  if (!skipPast(scan, terminator)) reject(`missing ${terminator} after the group name`, start);
  const name = scan.source.slice(start, scan.index - terminator.length);
  if (name === '') reject('missing group name', start);
  if (!identifier().test(name)) reject(`bad group name ${name}: it takes letters, digits and _`, start);
  return name;
}

/** Reads `(?flags)`, which Python allows only at the start. */
function readFlags(scan: Scan, start: number, first: string): void {
  for (let flag = first; flag !== ')'; flag = take(scan)) {
    if (flag === ':' || flag === '-') {
      const advice = first === '-' ? '' : `; put (?${first}) at the start`;
      reject(`flags for a part of the pattern are not supported${advice}`, start);
    }
    if (flag === 'L') reject('the flag L is for bytes, not for text', scan.index);
    if (!'aimsux'.includes(flag)) reject(`unknown flag ${flag}`, scan.index - flag.length);
    if (flag === '') reject('missing ) after the flags', scan.index);
    scan.flags.add(flag);
    if (scan.flags.has('a') && scan.flags.has('u'))
      reject('the flags a and u exclude each other', scan.index);
  }
  if (scan.out.length > 0) reject('global flags not at the start of the pattern', start);
}

function enter(scan: Scan, start: number, type: Group['type'], text: string): void {
  const capturesBefore = scan.captures.length;
  if (type === 'capture') scan.captures.push('open');
  scan.open.push({
    kind: type === 'capture' || type === 'plain' ? 'atom' : 'look-around',
    type,
    start,
    at: scan.out.length,
    capturesBefore,
    capturesOutside: scan.captures.length,
    alternatives: 1,
  });
  scan.out.push(text);
  scan.item = null;
}

function nextAlternative(scan: Scan): void {
  const group = innermost(scan);
  group.alternatives++;
  markDoubtful(scan, group.capturesOutside);
  scan.out.push(take(scan));
  scan.item = null;
}

function closeGroup(scan: Scan): void {
  const group = innermost(scan);
  if (scan.open.length === 1) reject('unbalanced ): no group is open', scan.index);
  scan.open.pop();
  if (group.alternatives > 1 || group.type.startsWith('not-')) markDoubtful(scan, group.capturesOutside);
  if (group.type === 'capture') scan.captures[group.capturesOutside - 1] = 'matched';
  scan.out.push(take(scan));
  scan.item = group;
}

function innermost({ open }: Scan): Group {
  return open.at(-1) ?? open[0];
}

function takeOrReject(scan: Scan): string {
  return take(scan) || reject('unexpected end of pattern', scan.index);
}

/** Token by token: in Python an escaped terminator ends neither a comment nor a name. */
function skipPast(scan: Scan, terminator: string): boolean {
  for (let token = take(scan); token !== ''; token = take(scan)) if (token === terminator) return true;
  return false;
}
