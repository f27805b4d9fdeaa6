import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The prompt in what an agent prints: some print it before they begin, and what it says of being done is not their word.
 *
 * 1. An echo begins with the first line of the prompt and goes on as the prompt does, blank lines aside. Whoever is told to
 *    say some lines of it may say them.
 * 2. How the text is cut into pieces makes no difference to what is an echo.
 * 3. Nothing is held back but the beginning of a line that may be one, and a line costs no more in a long prompt.
 */
export class Echo {
  readonly #prompt: readonly string[];
  /** The line of the prompt that would go on with an echo. */
  #at = 0;
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
    if (!this.#mayBegin(this.#line)) {
      said.push(...own(this.#line.slice(this.#given)));
      this.#given = this.#line.length;
    }
    return joined(said);
  }

  end(): readonly Said[] {
    const rest = this.#line.slice(this.#given);
    const isEcho = this.#isEcho(ending(this.#line));
    this.#line = '';
    this.#given = 0;
    return isEcho && rest !== '' ? [{ text: rest, isEcho }] : own(rest);
  }

  #complete(): Said {
    const line = ending(this.#line);
    const isEcho = this.#isEcho(line);
    const goesOn = line === this.#prompt[this.#at];
    if (line.trim() !== '') this.#at = !isEcho ? 0 : goesOn ? this.#at + 1 : 1;
    return { text: `${this.#line.slice(this.#given)}\n`, isEcho };
  }

  #isEcho(line: string): boolean {
    return this.#given === 0 && (line === this.#prompt[this.#at] || line === this.#prompt[0]);
  }

  #mayBegin(line: string): boolean {
    const start = ending(line);
    return [this.#at, 0].some((index) => this.#prompt[index]?.startsWith(start) === true);
  }
}

/** For the run in this folder; a prompt that is too long to be looked for is not. */
export function echoOf(folder: string): Echo {
  const file = join(folder, 'prompt.md');
  try {
    return new Echo(statSync(file).size > LONGEST_PROMPT ? '' : readFileSync(file, 'utf8'));
  } catch {
    // Without a prompt there is no echo.
    return new Echo('');
  }
}

const LONGEST_PROMPT = 1024 * 1024;

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
