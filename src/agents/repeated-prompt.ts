import type { Detector } from '../loop/completion.ts';
import { escapeForPattern } from '../loop/matcher.ts';
import type { Search } from '../loop/pattern-matcher.ts';
import { claimFinder } from '../loop/scan.ts';
import { bareLine } from './echo.ts';
import { JSON_STRINGS } from './json.ts';
import { stripVTControlCharacters } from 'node:util';

/**
 * The parts of a prompt that an agent may repeat without claiming to be done, although they have a completion word.
 *
 * 1. A line of the prompt that is at least 20 characters longer than the claim in it, anywhere. The agent may have been told
 *    to print a shorter one.
 * 2. The prompt from its first line on, once 20 characters were repeated. Any label may stand before each line.
 * 3. The whole prompt in a JSON string.
 */
export class RepeatedPrompt {
  /** Without blank lines. */
  readonly #lines: readonly string[];
  readonly #whole: string;
  /** Whether it has a claim at all. */
  readonly #claims: boolean;
  /** The lines that are no claim anywhere; null for none. */
  readonly #telling: RegExp | null;
  /** A JSON string that is shorter holds nothing of the prompt that matters. */
  readonly #shortest: number;

  constructor(prompt: string, detectors: readonly Detector[], search: Search) {
    const find = claimFinder(detectors, search);
    const text = seenText(prompt).trim();
    this.#lines = text
      .split('\n')
      .map(bareLine)
      .filter((line) => line !== '');
    const claims = this.#lines.map((line) => find(line)?.length ?? null);
    const telling = this.#lines.filter((line, index) => {
      const length = claims[index] ?? null;
      return length !== null && line.length >= length + LEAST_CONTEXT;
    });
    const claim = find(text)?.length ?? null;
    this.#claims = claim !== null || claims.some((length) => length !== null);
    this.#whole = text.length > (claim ?? 0) ? text : '';
    const patterns = telling.map(wrapped).filter((pattern) => pattern !== '');
    this.#telling = patterns.length === 0 ? null : new RegExp(patterns.join('|'), 'gu');
    this.#shortest = Math.min(text.length, ...telling.map((line) => line.length));
  }

  /** Reads a text line by line. */
  begin(): RepetitionReader {
    if (!this.#claims) return { read: (lines) => lines };
    let place: Place = NOWHERE;
    return {
      read: (lines) =>
        lines
          .split('\n')
          .map((line) => {
            const [own, next] = this.#ownPart(line, place);
            place = next;
            return own;
          })
          .join('\n'),
    };
  }

  /** What remains of a text that is complete; its lines may be broken differently from those of the prompt. */
  without(text: string): string {
    return this.begin().read(this.#withoutTelling(text));
  }

  #withoutTelling(text: string): string {
    return this.#telling === null ? text : text.replaceAll(this.#telling, '');
  }

  #ownPart(line: string, place: Place): readonly [own: string, next: Place] {
    const bare = bareLine(line);
    if (bare === '') return [line, place];
    const own = this.#withoutStrings(this.#withoutTelling(line));
    const expected = place.next === 0 ? undefined : this.#lines[place.next];
    if (expected !== undefined) {
      const isLast = place.next === this.#lines.length - 1;
      const after = isLast && bare.startsWith(expected) ? bare.slice(expected.length) : '';
      if (after !== '' || bare.endsWith(expected)) {
        const next = { next: place.next + 1, repeated: place.repeated + expected.length };
        return [place.repeated >= LEAST_CONTEXT ? after : own, next];
      }
    }
    const [first = ''] = this.#lines;
    return [own, bare.endsWith(first) ? { next: 1, repeated: first.length } : NOWHERE];
  }

  /** Without the prompt in the JSON strings of a line. */
  #withoutStrings(line: string): string {
    if (line.length < this.#shortest || !line.includes('"')) return line;
    return line.replaceAll(JSON_STRINGS, (quoted) => {
      if (quoted.length < this.#shortest) return quoted;
      const text = stringIn(quoted);
      if (text === null) return quoted;
      const rest = this.#whole === '' ? text : text.replaceAll(this.#whole, '');
      const own = this.without(rest);
      return own === text ? quoted : JSON.stringify(own);
    });
  }
}

export interface RepetitionReader {
  /** Returns what remains of the next lines, the last of which needs no line end. */
  read(lines: string): string;
}

/** Where a repetition of the prompt would continue, and how many characters of it were there so far. */
interface Place {
  readonly next: number;
  readonly repeated: number;
}

const NOWHERE: Place = { next: 0, repeated: 0 };

/** So many characters besides the claim show that it is the prompt and not the agent's own words. */
const LEAST_CONTEXT = 20;

function stringIn(quoted: string): string | null {
  try {
    const value: unknown = JSON.parse(quoted);
    return typeof value === 'string' ? seenText(value) : null;
  } catch {
    return null;
  }
}

/**
 * A line that may be broken and indented between its words. No word has a character that may stand between words, so there is only
 * one way to divide a text: `> > >` would have very many.
 */
function wrapped(line: string): string {
  const words = line.split(BETWEEN_WORDS).filter((word) => word !== '');
  const last = words.at(-1);
  if (last === undefined) return '';
  // The end of a tag belongs to the line.
  const closing = line.slice(line.lastIndexOf(last) + last.length).trimEnd();
  return words.map(escapeForPattern).join(BETWEEN_WORDS.source) + escapeForPattern(closing);
}

const BETWEEN_WORDS = /[\s>|\u2502\u2503\u258C]+/u;

/**
 * What a person sees of an output: without colours and other sequences for the terminal, and without carriage returns. After
 * one that does not end its line the program writes this line again, so it begins another line.
 */
export function seenText(text: string): string {
  if (!CONTROL.test(text)) return text;
  return (
    stripVTControlCharacters(text)
      // Once for each row of them, however long it is.
      .replaceAll(/(?<!\r)\r+(?=\n|$)/g, '')
      .replaceAll('\r', '\n')
      .replaceAll(UNSEEN, '')
  );
}

const CONTROL = /[^\P{Cc}\n\t]/u;
const UNSEEN = new RegExp(CONTROL, 'gu');
