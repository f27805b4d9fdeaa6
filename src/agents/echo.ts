/**
 * The prompt in what an agent prints: some print it before they begin, and what it says of being done is not their word.
 *
 * 1. A line is an echo where the line before it in the output is also the line before it in the prompt, blank ones aside:
 *    whoever is told to say a line may say it.
 * 2. How the text is cut into pieces makes no difference to what is an echo.
 * 3. Nothing is held back but the beginning of a line that may be one.
 */
export class Echo {
  readonly #prompt: readonly string[];
  readonly #longest: number;
  /** Where in the prompt the last line may have stood; the beginning is before its first line. */
  #before: readonly number[] = [-1];
  /** The line that is not complete yet, and how much of it was given back. */
  #line = '';
  #given = 0;
  /** Echoes come early; whatever is printed later costs nothing. */
  #left: number;

  constructor(prompt: string) {
    this.#prompt = prompt
      .split('\n')
      .map(ending)
      .filter((line) => line.trim() !== '');
    this.#longest = Math.max(0, ...this.#prompt.map((line) => line.length));
    this.#left = this.#prompt.length === 0 ? 0 : 2 * prompt.length + EARLY;
  }

  push(text: string): readonly Said[] {
    if (this.#left <= 0) return [...this.end(), ...own(text)];
    this.#left -= text.length;
    const said: Said[] = [];
    const [first = '', ...more] = text.split('\n');
    this.#line += first;
    for (const next of more) {
      said.push(this.#complete());
      this.#line = next;
      this.#given = 0;
    }
    const isLong = this.#line.length > this.#longest + 1;
    if (isLong || !this.#next().some((line) => line.startsWith(this.#line))) {
      said.push(...own(this.#line.slice(this.#given)));
      this.#given = this.#line.length;
    }
    return joined(said);
  }

  end(): readonly Said[] {
    const rest = this.#line.slice(this.#given);
    const isEcho = this.#given === 0 && this.#next().includes(ending(this.#line));
    this.#line = '';
    this.#given = 0;
    return isEcho && rest !== '' ? [{ text: rest, isEcho }] : own(rest);
  }

  #complete(): Said {
    const line = ending(this.#line);
    const isEcho = this.#given === 0 && this.#next().includes(line);
    if (line.trim() !== '') {
      this.#before = this.#prompt.flatMap((known, index) => (known === line ? [index] : []));
    }
    return { text: `${this.#line.slice(this.#given)}\n`, isEcho };
  }

  /** What would be an echo now. */
  #next(): readonly string[] {
    return this.#before.flatMap((index) => this.#prompt[index + 1] ?? []);
  }
}

/** A part of what was printed. */
export interface Said {
  readonly text: string;
  readonly isEcho: boolean;
}

const EARLY = 64 * 1024;

function own(text: string): readonly Said[] {
  return text === '' ? [] : [{ text, isEcho: false }];
}

function ending(line: string): string {
  return line.replace(/\r$/, '');
}

function joined(said: readonly Said[]): readonly Said[] {
  const whole: Said[] = [];
  for (const one of said) {
    const last = whole.at(-1);
    if (last?.isEcho !== one.isEcho) whole.push(one);
    else whole.splice(-1, 1, { text: last.text + one.text, isEcho: one.isEcho });
  }
  return whole;
}
