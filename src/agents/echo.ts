import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Finds our own prompt in an agent's output. Some agents print it before they start, and a completion word in it is not
 * the agent's claim.
 *
 * 1. An echo starts with the first line of the prompt and continues as the prompt does, ignoring blank lines. An agent may
 *    still repeat single lines that the prompt tells it to print.
 * 2. The lines of an echo may be quoted, indented, labelled or in a box. Its last line may be followed by the agent's text.
 * 3. The result does not depend on how the text is split into pieces.
 * 4. It holds back only the start of a line that may be an echo, and the cost per line does not grow with the prompt.
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
      .map(bareLine)
      .filter((line) => line !== '');
    const marks = USUAL_MARKS_LENGTH * this.#prompt.length;
    this.#remaining = this.#prompt.length === 0 ? 0 : 2 * prompt.length + marks + EXTRA_LENGTH;
  }

  push(text: string): readonly Fragment[] {
    if (this.#remaining <= 0) return [...this.end(), ...ownText(text)];
    this.#remaining -= text.length;
    const fragments: Fragment[] = [];
    const [first = '', ...more] = text.split('\n');
    this.#line += first;
    for (const next of more) {
      fragments.push(...this.#completeLine());
      this.#line = next;
      this.#returned = 0;
    }
    if (!this.#mayBeEcho(this.#line)) {
      fragments.push(...this.#rest(this.#line));
      this.#returned = this.#line.length;
    }
    return merged(fragments);
  }

  end(): readonly Fragment[] {
    const rest = this.#isEcho(this.#line) ? echo(this.#line) : this.#rest(this.#line);
    this.#line = '';
    this.#returned = 0;
    return rest;
  }

  #completeLine(): readonly Fragment[] {
    const line = `${this.#line}\n`;
    const isEcho = this.#isEcho(this.#line);
    const fragments = isEcho ? echo(line) : this.#rest(line);
    const text = bareLine(this.#line);
    if (text !== '') this.#next = !isEcho ? 0 : text === this.#prompt[this.#next] ? this.#next + 1 : 1;
    return fragments;
  }

  /** The part of a line that was not returned, divided where an echo ends and the agent's own text begins. */
  #rest(line: string): readonly Fragment[] {
    const last = this.#prompt.length - 1;
    const isExpected = this.#returned === 0 && [this.#next, 0].includes(last);
    const text = this.#prompt[last] ?? '';
    const marks = marksOf(line).length;
    if (!isExpected || !line.startsWith(text, marks)) return ownText(line.slice(this.#returned));
    const end = marks + text.length;
    return [...echo(line.slice(0, end)), ...ownText(line.slice(end))];
  }

  #isEcho(line: string): boolean {
    const text = bareLine(line);
    if (this.#returned > 0 || line.trim() === '') return false;
    if (text === '') return this.#next > 0 && this.#next < this.#prompt.length;
    return text === this.#prompt[this.#next] || text === this.#prompt[0];
  }

  #mayBeEcho(line: string): boolean {
    const marks = marksOf(line);
    if (marks.length > MAX_MARKS_LENGTH) return false;
    const start = line.slice(marks.length).replace(UNFINISHED_COLOUR, '');
    if (LABELS.some((label) => label.startsWith(start.toLowerCase()))) return true;
    return [this.#next, 0].some((index) => {
      const text = this.#prompt[index];
      if (text === undefined || text.startsWith(start)) return text !== undefined;
      const padding = start.length - text.length;
      return (
        padding <= MAX_MARKS_LENGTH && start.startsWith(text) && CLOSING_MARKS.test(start.slice(text.length))
      );
    });
  }
}

const ESCAPE = '\u001B';
const COLOUR = String.raw`${ESCAPE}\[[0-9;]*m`;
/** What a CLI puts in front of a line of the prompt: quotation marks, the border of a box, a label, a colour, blanks. */
const MARKS = new RegExp(
  String.raw`^(?:${COLOUR}|[\s>|\u2502\u2503\u258C]|(?:user|human|you|prompt)[:>])*`,
  'i',
);
const LABELS = ['user:', 'user>', 'human:', 'human>', 'you:', 'you>', 'prompt:', 'prompt>'];
/** And behind it: padding, the other border. */
const CLOSING_MARKS = new RegExp(String.raw`^(?:${COLOUR}|\s)*[|\u2502\u2503]?(?:${COLOUR}|\s)*$`);
/** A colour that is not complete yet. */
const UNFINISHED_COLOUR = new RegExp(String.raw`${ESCAPE}(?:\[[0-9;]*)?$`);
const LAST_COLOUR = new RegExp(`${COLOUR}$`);
const MAX_MARKS_LENGTH = 1000;
const USUAL_MARKS_LENGTH = 16;

function marksOf(line: string): string {
  return MARKS.exec(line.slice(0, MAX_MARKS_LENGTH + 1))?.[0] ?? '';
}

/** A line of the prompt without what a CLI puts around it. */
export function bareLine(line: string): string {
  const text = withoutColour(line.slice(marksOf(line).length));
  return /[|│┃]$/.test(text) ? withoutColour(text.slice(0, -1)) : text;
}

/** Without the blanks and colours at the end. */
function withoutColour(text: string): string {
  for (let rest = text.trimEnd(); ;) {
    const colour = rest.endsWith('m') ? LAST_COLOUR.exec(rest.slice(-MAX_COLOUR_LENGTH)) : null;
    if (colour === null) return rest;
    rest = rest.slice(0, -colour[0].length).trimEnd();
  }
}

const MAX_COLOUR_LENGTH = 32;

export function echoOf(folder: string): Echo {
  return new Echo(promptOf(folder));
}

/** The prompt of the run in this folder; a prompt that is too long is not looked for. */
export function promptOf(folder: string): string {
  const file = join(folder, 'prompt.md');
  try {
    return statSync(file).size > MAX_PROMPT_BYTES ? '' : readFileSync(file, 'utf8');
  } catch {
    // Without a prompt there is no echo.
    return '';
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

function echo(text: string): readonly Fragment[] {
  return [{ text, isEcho: true }];
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
