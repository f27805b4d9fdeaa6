/**
 * Where things stand in a JSON text, for messages that name a line. It is only asked once something is wrong: the text
 * itself is read by `JSON.parse`.
 */

/** The line (from 1) of every value, by its path: `guardrails[0].command`. */
export function linesOf(text: string): ReadonlyMap<string, number> {
  const lines = new Map<string, number>();
  try {
    new Scanner(text, (path, line) => lines.set(path, line)).value('');
  } catch (error) {
    // Up to where it is no JSON any more.
    if (!(error instanceof NoJson)) throw error;
  }
  return lines;
}

/** Where a text stops to be JSON, and what should have come there; null if it does not. */
export function brokenAt(text: string): { readonly line: number; readonly expected: string } | null {
  try {
    const scanner = new Scanner(text, () => {});
    scanner.value('');
    scanner.end();
    return null;
  } catch (error) {
    if (!(error instanceof NoJson)) throw error;
    return { line: error.line, expected: error.expected };
  }
}

class NoJson extends Error {
  readonly line: number;
  readonly expected: string;

  constructor(line: number, expected: string) {
    super(expected);
    this.line = line;
    this.expected = expected;
  }
}

class Scanner {
  readonly #text: string;
  readonly #found: (path: string, line: number) => void;
  #at = 0;
  #line = 1;

  constructor(text: string, found: (path: string, line: number) => void) {
    this.#text = text;
    this.#found = found;
  }

  value(path: string): void {
    this.#blanks();
    this.#found(path, this.#line);
    const next = this.#text[this.#at];
    if (next === '{') this.#items('}', () => this.#member(path));
    else if (next === '[') this.#items(']', (index) => this.value(`${path}[${index}]`));
    else if (this.#take(STRING) === null && this.#take(SCALAR) === null)
      throw new NoJson(this.#line, 'a value');
  }

  end(): void {
    this.#blanks();
    if (this.#at < this.#text.length) throw new NoJson(this.#line, 'the end of the file');
  }

  #items(close: string, item: (index: number) => void): void {
    this.#at++;
    this.#blanks();
    if (this.#text[this.#at] === close) {
      this.#at++;
      return;
    }
    for (let index = 0; ; index++) {
      item(index);
      this.#blanks();
      const next = this.#text[this.#at];
      if (next !== ',' && next !== close) throw new NoJson(this.#line, `"," or "${close}"`);
      this.#at++;
      if (next === close) return;
    }
  }

  #member(path: string): void {
    this.#blanks();
    const line = this.#line;
    const key = this.#take(STRING);
    if (key === null) throw new NoJson(line, 'a key in double quotes');
    this.#blanks();
    if (this.#text[this.#at] !== ':') throw new NoJson(this.#line, '":"');
    this.#at++;
    const name = String(JSON.parse(key));
    const whole = path === '' ? name : `${path}.${name}`;
    this.value(whole);
    // A key is where a person looks, also where its value stands on another line.
    this.#found(whole, line);
  }

  #take(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    const taken = pattern.exec(this.#text)?.[0] ?? null;
    this.#at += taken?.length ?? 0;
    return taken;
  }

  /** A string has no line breaks in it, so they are all here. */
  #blanks(): void {
    const taken = this.#take(BLANKS) ?? '';
    for (const char of taken) if (char === '\n') this.#line++;
  }
}

const BLANKS = /[ \t\r\n]*/y;
const STRING = /"(?:[^"\\\r\n\t]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])|true\b|false\b|null\b/y;
