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
export function syntaxErrorIn(text: string): (Position & { readonly message: string }) | null {
  const errors: ParseError[] = [];
  parse(text, errors, STRICT);
  const [first, second] = errors;
  if (first === undefined) return null;
  return { ...positionAt(text, first.offset), message: describe(first, second, text) };
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
  InvalidCommentToken: 'comments are not allowed',
  UnexpectedEndOfComment: 'comments are not allowed',
  UnexpectedEndOfString: 'the string has no closing quote',
  UnexpectedEndOfNumber: 'the number is incomplete',
  InvalidNumberFormat: 'the number is invalid',
  InvalidUnicode: 'the string contains an invalid \\u escape',
  InvalidEscapeCharacter: 'the string contains an invalid escape',
  InvalidCharacter: 'the string contains a control character',
};
