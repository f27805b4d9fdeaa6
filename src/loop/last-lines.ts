/** The last lines that a terminal would show of a program's output, to see whether it still changes (document 003). */

/** The last lines of what a terminal shows; blank lines at the end do not count. */
export function lastLines(text: string): string {
  return text.trimEnd().split('\n').slice(-LINES).join('\n');
}

const LINES = 20;

/**
 * Draws the end of an output as a terminal does, as far as the last lines need it: a program that repaints a line or its
 * screen leaves one copy of it. The terminal has no width and no bottom; colours and titles are left out.
 */
export function drawn(output: string): string {
  const screen = new Drawing();
  for (const [token, command] of output.matchAll(TOKENS)) {
    if (command === undefined) screen.write(token);
    else screen.obey(command, numbersIn(token));
  }
  return screen.text;
}

const ESCAPE = '\u001B';
/** An escape sequence with its final letter, another escape, a control character, or text. */
const TOKENS = new RegExp(
  [
    String.raw`${ESCAPE}\[[0-?]*[ -/]*([@-~])`,
    String.raw`${ESCAPE}[\]P^_X][^\u0007${ESCAPE}]*(?:\u0007|${ESCAPE}\\)?`,
    String.raw`${ESCAPE}[ -/]*[0-~]?`,
    String.raw`[\u0000-\u001F]`,
    String.raw`[^\u0000-\u001F${ESCAPE}]+`,
  ].join('|'),
  'gu',
);

function numbersIn(sequence: string): readonly number[] {
  return [...sequence.matchAll(/\d+/g)].map(([digits]) => Number(digits));
}

/** More lines than are looked at: a program may move up to repaint. */
const MAX_LINES = 500;

class Drawing {
  #lines: string[] = [''];
  #row = 0;
  #column = 0;

  get text(): string {
    return this.#lines.map((line) => line.trimEnd()).join('\n');
  }

  write(token: string): void {
    switch (token) {
      case '\n':
        this.#moveTo(this.#row + 1);
        this.#column = 0;
        return;
      case '\r':
        this.#column = 0;
        return;
      case '\b':
        this.#column = Math.max(0, this.#column - 1);
        return;
      case '\t':
        this.#column += 8 - (this.#column % 8);
        return;
      default:
        if (token < ' ' || token.startsWith(ESCAPE)) return;
        this.#put(token);
    }
  }

  /** Obeys an escape sequence, by its final letter. */
  obey(letter: string, [first = 0, second = 0]: readonly number[]): void {
    const count = Math.min(Math.max(1, first), MAX_LINES);
    switch (letter) {
      case 'A':
      case 'F':
        this.#row = Math.max(0, this.#row - count);
        if (letter === 'F') this.#column = 0;
        return;
      case 'B':
      case 'E':
        this.#moveTo(this.#row + count);
        if (letter === 'E') this.#column = 0;
        return;
      case 'C':
        this.#column += count;
        return;
      case 'D':
        this.#column = Math.max(0, this.#column - count);
        return;
      case 'G':
        this.#column = Math.min(count, MAX_COLUMN) - 1;
        return;
      case 'H':
      case 'f':
        // Where the screen of the program begins is unknown, unless it draws all of it.
        this.#row = 0;
        this.#moveTo(Math.min(count, MAX_LINES) - 1);
        this.#column = Math.min(Math.max(1, second), MAX_COLUMN) - 1;
        return;
      case 'J':
        if (first >= 2) this.#lines = this.#lines.map(() => '');
        else if (first === 0) this.#eraseBelow();
        return;
      case 'K':
        this.#eraseLine(first);
        return;
      case 'h':
      case 'l':
        // Another screen, and back.
        if (first === 1049 || first === 47) this.#clear();
        return;
      default:
    }
  }

  #clear(): void {
    this.#lines = [''];
    this.#row = 0;
    this.#column = 0;
  }

  #eraseBelow(): void {
    this.#eraseLine(0);
    this.#lines.length = this.#row + 1;
  }

  #eraseLine(part: number): void {
    const line = this.#lines[this.#row] ?? '';
    this.#lines[this.#row] =
      part === 0
        ? line.slice(0, this.#column)
        : part === 1
          ? ' '.repeat(this.#column) + line.slice(this.#column)
          : '';
  }

  #moveTo(row: number): void {
    while (this.#lines.length <= row) this.#lines.push('');
    const surplus = this.#lines.length - MAX_LINES;
    if (surplus > 0) this.#lines.splice(0, surplus);
    this.#row = Math.max(0, row - Math.max(0, surplus));
  }

  #put(text: string): void {
    const line = (this.#lines[this.#row] ?? '').padEnd(this.#column);
    this.#lines[this.#row] = line.slice(0, this.#column) + text + line.slice(this.#column + text.length);
    this.#column += text.length;
  }
}

const MAX_COLUMN = 1000;
