import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Finds our own prompt in an agent's output. Some agents print it before they start, and a completion word in it is not
 * the agent's claim.
 *
 * 1. An echo starts with the first line of the prompt and continues as the prompt does, ignoring blank lines. An agent may
 *    still repeat single lines that the prompt tells it to print.
 * 2. The result does not depend on how the text is split into pieces.
 * 3. It holds back only the start of a line that may be an echo, and the cost per line does not grow with the prompt.
 */
export class Echo {
  readonly #prompt: readonly string[];
  /** Index of the prompt line that would continue the echo. */
  #next = 0;
  /** The unfinished line, and how many of its characters were returned. */
  #line = '';
  #returned = 0;
  /** Characters still to be searched: agents print the prompt early. */
  #remaining: number;

  constructor(prompt: string) {
    this.#prompt = prompt
      .split('\n')
      .map(withoutCarriageReturn)
      .filter((line) => line.trim() !== '');
    this.#remaining = this.#prompt.length === 0 ? 0 : 2 * prompt.length + EXTRA_LENGTH;
  }

  push(text: string): readonly Fragment[] {
    if (this.#remaining <= 0) return [...this.end(), ...ownText(text)];
    this.#remaining -= text.length;
    const fragments: Fragment[] = [];
    const [first = '', ...more] = text.split('\n');
    this.#line += first;
    for (const next of more) {
      fragments.push(this.#completeLine());
      this.#line = next;
      this.#returned = 0;
    }
    if (!this.#mayBeEcho(this.#line)) {
      fragments.push(...ownText(this.#line.slice(this.#returned)));
      this.#returned = this.#line.length;
    }
    return merged(fragments);
  }

  end(): readonly Fragment[] {
    const rest = this.#line.slice(this.#returned);
    const isEcho = this.#isEcho(withoutCarriageReturn(this.#line));
    this.#line = '';
    this.#returned = 0;
    return isEcho && rest !== '' ? [{ text: rest, isEcho }] : ownText(rest);
  }

  #completeLine(): Fragment {
    const line = withoutCarriageReturn(this.#line);
    const isEcho = this.#isEcho(line);
    const continues = line === this.#prompt[this.#next];
    if (line.trim() !== '') this.#next = !isEcho ? 0 : continues ? this.#next + 1 : 1;
    return { text: `${this.#line.slice(this.#returned)}\n`, isEcho };
  }

  #isEcho(line: string): boolean {
    return this.#returned === 0 && (line === this.#prompt[this.#next] || line === this.#prompt[0]);
  }

  #mayBeEcho(line: string): boolean {
    const start = withoutCarriageReturn(line);
    return [this.#next, 0].some((index) => this.#prompt[index]?.startsWith(start) === true);
  }
}

/** For the run in this folder; a prompt that is too long is not looked for. */
export function echoOf(folder: string): Echo {
  const file = join(folder, 'prompt.md');
  try {
    return new Echo(statSync(file).size > MAX_PROMPT_BYTES ? '' : readFileSync(file, 'utf8'));
  } catch {
    // Without a prompt there is no echo.
    return new Echo('');
  }
}

const MAX_PROMPT_BYTES = 1024 * 1024;

/** A piece of the output. */
export interface Fragment {
  readonly text: string;
  readonly isEcho: boolean;
}

const EXTRA_LENGTH = 64 * 1024;

function ownText(text: string): readonly Fragment[] {
  return text === '' ? [] : [{ text, isEcho: false }];
}

function withoutCarriageReturn(line: string): string {
  return line.replace(/\r$/, '');
}

function merged(fragments: readonly Fragment[]): readonly Fragment[] {
  const result: Fragment[] = [];
  for (const fragment of fragments) {
    const last = result.at(-1);
    if (last?.isEcho !== fragment.isEcho) result.push(fragment);
    else result.splice(-1, 1, { text: last.text + fragment.text, isEcho: fragment.isEcho });
  }
  return result;
}
