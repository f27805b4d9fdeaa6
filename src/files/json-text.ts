/** Positions in a JSON text, for messages that name a line. `JSON.parse` reads the text; this explains what is wrong. */
import { parse, parseTree, printParseErrorCode, type Node, type ParseError } from 'jsonc-parser';

export interface Position {
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
}

/** The offset of every value, or of its key if it has one, by its path: `checks[0].command`. */
export function offsetsOf(text: string): ReadonlyMap<string, number> {
  const offsets = new Map<string, number>();
  const add = (node: Node, path: string, offset: number): void => {
    offsets.set(path, offset);
    if (node.type === 'array')
      node.children?.forEach((item, index) => add(item, `${path}[${index}]`, item.offset));
    if (node.type === 'object') for (const property of node.children ?? []) addProperty(property, path);
  };
  const addProperty = ({ children = [] }: Node, path: string): void => {
    const [key, value] = children;
    if (key === undefined || value === undefined) return;
    const name = String(key.value);
    add(value, path === '' ? name : `${path}.${name}`, key.offset);
  };
  const root = parseTree(text, [], STRICT);
  if (root !== undefined) add(root, '', root.offset);
  return offsets;
}

export function positionAt(text: string, offset: number): Position {
  const before = text.slice(0, offset);
  return { line: before.split('\n').length, column: offset - before.lastIndexOf('\n') };
}

/** The first syntax error; null for valid JSON. */
export function syntaxErrorIn(text: string): TextProblem | null {
  const errors: ParseError[] = [];
  parse(text, errors, STRICT);
  const [first, second] = errors;
  if (first === undefined) return null;
  const comma = trailingCommaBefore(text, first.offset);
  if (comma !== null) return { ...positionAt(text, comma), message: 'remove the comma after the last entry' };
  return { ...positionAt(text, first.offset), message: describe(first, second, text) };
}

export type TextProblem = Position & { readonly message: string };

/** The offset of a comma that stands right before a closing bracket; null if another error is there. */
function trailingCommaBefore(text: string, offset: number): number | null {
  const before = text.slice(0, offset).trimEnd();
  return /[}\]]/.test(text[offset] ?? '') && before.endsWith(',') ? before.length - 1 : null;
}

/** Where brackets are nested deeper than any settings need, and than a parser may follow; null if nowhere. */
export function tooDeepIn(text: string): TextProblem | null {
  let depth = 0;
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"?|[[\]{}]/gs)) {
    if (token === '[' || token === '{') depth++;
    if (token === ']' || token === '}') depth--;
    if (depth > MAX_DEPTH)
      return { ...positionAt(text, index), message: `nested more than ${MAX_DEPTH} levels deep` };
  }
  return null;
}

const MAX_DEPTH = 100;

/** The first key that an object has twice; `JSON.parse` would silently use the last one. */
export function duplicateKeyIn(text: string): TextProblem | null {
  const first = (node: Node | undefined): TextProblem | null => {
    const known = new Map<string, number>();
    for (const child of node?.children ?? []) {
      const key = child.type === 'property' ? child.children?.[0] : undefined;
      const earlier = key === undefined ? undefined : known.get(String(key.value));
      if (key !== undefined && earlier !== undefined) {
        const { line } = positionAt(text, earlier);
        const message = `${JSON.stringify(key.value)} is set twice, first in line ${line}; keep one of them`;
        return { ...positionAt(text, key.offset), message };
      }
      if (key !== undefined) known.set(String(key.value), key.offset);
      const inner = first(child);
      if (inner !== null) return inner;
    }
    return null;
  };
  return first(parseTree(text, [], STRICT));
}

const STRICT = { disallowComments: true, allowTrailingComma: false };

function describe(first: ParseError, second: ParseError | undefined, text: string): string {
  const code = printParseErrorCode(first.error);
  if (code !== 'InvalidSymbol') return MESSAGES[code] ?? 'unexpected text';
  // The parser skips the symbol, then reports what it expected in its place.
  const expected = second === undefined ? undefined : MESSAGES[printParseErrorCode(second.error)];
  const symbol = JSON.stringify(text.slice(first.offset, first.offset + first.length));
  return expected === undefined ? `unexpected ${symbol}` : `unexpected ${symbol}, ${expected}`;
}

const MESSAGES: Readonly<Record<string, string>> = {
  PropertyNameExpected: 'expected a key in double quotes',
  ValueExpected: 'expected a value',
  ColonExpected: 'expected ":"',
  CommaExpected: 'expected ","',
  CloseBraceExpected: 'expected "}"',
  CloseBracketExpected: 'expected "]"',
  EndOfFileExpected: 'expected the end of the file',
  InvalidCommentToken: 'comments are not allowed in JSON; remove them',
  UnexpectedEndOfComment: 'comments are not allowed in JSON; remove them',
  UnexpectedEndOfString: 'the string has no closing quote',
  UnexpectedEndOfNumber: 'the number is incomplete',
  InvalidNumberFormat: 'the number is invalid',
  InvalidUnicode: 'the string contains an invalid \\u escape',
  InvalidEscapeCharacter: 'the string contains an invalid escape',
  InvalidCharacter: 'the string contains a control character',
};
