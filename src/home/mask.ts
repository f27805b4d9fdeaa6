/**
 * The one way to show text of agents, checks and prompts: without secrets.
 *
 * 1. Text is masked before it is cut: a part of a secret cannot be recognised.
 * 2. A secret that arrives in pieces is masked too: a stream holds back an end that may be the beginning of one.
 * 3. The values are collected once, not with every piece of output.
 */
import { savedEnvironment } from './saved-environment.ts';
import { maskedNotices } from './notice-secrets.ts';
import { startersEnvironment } from './run-environment.ts';
import { hideValuesAndKeys, REDACTED, secretValues, startOfKey, UNFINISHED_KEY } from '../loop/secrets.ts';
import type { Environment } from '../process/process.ts';

/** What is masked of a loop that another process drives, or that has ended: the environment is kept only until its end. */
export function maskOf(loop: { readonly id: string }): Mask {
  return masks()(loop);
}

/** The same for many loops: our own environment is read only once. */
export function masks(): (loop: { readonly id: string }) => Mask {
  const own = startersEnvironment(process.env);
  const ofNone = new Mask(own);
  return ({ id }) => {
    const env = savedEnvironment(id)?.env;
    return env === undefined ? ofNone : new Mask(own, env, maskedNotices(id));
  };
}

/** What is masked where no loop is meant: the secrets of our own environment. */
export function maskHere(): Mask {
  return new Mask(startersEnvironment(process.env));
}

/** What the owner of a loop masks: its environment, our own, and where its notices go. */
export function ownMask({
  spec,
  env,
}: {
  readonly spec: { readonly id: string };
  readonly env: Environment;
}): Mask {
  return new Mask(env, startersEnvironment(process.env), maskedNotices(spec.id));
}

export class Mask {
  readonly #values: readonly string[];

  constructor(...environments: readonly Environment[]) {
    const values = new Set(environments.flatMap((env) => secretValues(env)));
    this.#values = [...values].toSorted((a, b) => b.length - a.length);
  }

  /** A text without secrets and without what looks like a key. */
  text(text: string): string {
    return hideValuesAndKeys(text, this.#values);
  }

  /** The same for a text that was already cut, with `...` at its end: there may be the beginning of a secret before it. */
  cutText(text: string): string {
    const masked = this.text(text);
    if (!masked.endsWith('...')) return masked;
    const start = masked.slice(0, -3);
    const held = startOfValue(start, this.#values);
    return held < MIN_PART_LENGTH ? masked : `${start.slice(0, -held)}${REDACTED}...`;
  }

  /** The same for all texts in a plain value; keys of objects stay. */
  value<T>(value: T): T {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the shape stays the same
    return this.#masked(value) as T;
  }

  /** How many bytes before a place can matter for whether it is in a secret. */
  get longest(): number {
    return Math.max(MAX_KEY_LENGTH, ...this.#values.map((value) => Buffer.byteLength(value)));
  }

  /**
   * What can be shown of an output from a place on, of which `content` has the bytes around it: from there or earlier, and to its end
   * or less far, so that no secret is cut in two. After the content comes more (`middle`), perhaps more, so that only a known secret is not cut
   * (`pause`), or nothing (`end`).
   */
  between(content: Buffer, from: number, then: 'middle' | 'pause' | 'end'): Part {
    const values = this.#values.map((value) => Buffer.from(value).toString('latin1'));
    const text = content.toString('latin1');
    const open = uncut(text, from, { values, most: this.longest });
    const end =
      then === 'end'
        ? text.length
        : Math.max(open, uncut(text, text.length, { values, most: this.longest }, then === 'pause'));
    const hidden = (...part: [number, number]): string => hideValuesAndKeys(text.slice(...part), values);
    // By what follows, a word in which the part before has ended after a pause may be no key.
    const isCut = end < from || hidden(open, end) !== hidden(open, from) + hidden(from, end);
    const start = isCut ? open : from;
    const shown = Buffer.from(hidden(start, end), 'latin1');
    return { from: start, to: end, shown };
  }

  /** For text that arrives in pieces. */
  stream(): MaskedStream {
    return new MaskedStream(this.#values);
  }

  #masked(value: unknown): unknown {
    if (typeof value === 'string') return this.text(value);
    if (typeof value !== 'object' || value === null) return value;
    const parts: readonly unknown[] = Object.values(value);
    const masked = parts.map((part) => this.#masked(part));
    // Most values have no secret, and a copy of each takes longer than to look for one.
    if (masked.every((part, at) => part === parts[at])) return value;
    return Array.isArray(value)
      ? masked
      : Object.fromEntries(Object.keys(value).map((key, at) => [key, masked[at]]));
  }
}

interface Part {
  readonly from: number;
  readonly to: number;
  readonly shown: Buffer;
}

/**
 * The last place up to `at` before which no secret may have begun, and no key unless that is `released`. No secret is longer than
 * `most`, so that an output in which one may begin everywhere does not hold everything back.
 */
function uncut(
  text: string,
  at: number,
  { values, most }: { readonly values: readonly string[]; readonly most: number },
  released = false,
): number {
  const heldIn = released
    ? (shown: string) => withWholeValues(shown, values, startOfValue(shown, values))
    : (shown: string) => unfinished(shown, values);
  let edge = at;
  for (let held = -1; held !== 0 && at - edge < most; edge -= held) held = heldIn(text.slice(0, edge));
  return edge;
}

export class MaskedStream {
  readonly #values: readonly string[];
  /** The same values as the characters that their bytes are in Latin-1: bytes that are no UTF-8 pass unchanged. */
  readonly #bytes: readonly string[];
  #rest = '';
  #isText = true;

  constructor(values: readonly string[]) {
    this.#values = values;
    this.#bytes = values.map((value) => Buffer.from(value).toString('latin1'));
  }

  /** Use either texts or bytes for one stream. */
  read<T extends string | Buffer>(piece: T): T;
  read(piece: string | Buffer): string | Buffer {
    this.#isText = typeof piece === 'string';
    const values = this.#isText ? this.#values : this.#bytes;
    const text = this.#rest + (typeof piece === 'string' ? piece : piece.toString('latin1'));
    const held = unfinished(text, values);
    this.#rest = text.slice(text.length - held);
    return this.#shown(held === 0 ? text : text.slice(0, -held), values);
  }

  /** Shows a word that might have become a key, once nothing has followed for a while; not the beginning of a known secret. */
  release(): string | Buffer {
    const values = this.#isText ? this.#values : this.#bytes;
    const text = this.#rest;
    const held = withWholeValues(text, values, startOfValue(text, values));
    this.#rest = text.slice(text.length - held);
    return this.#shown(text.slice(0, text.length - held), values);
  }

  /** What is still held back; nothing follows it. */
  end(): string | Buffer {
    const rest = this.#rest;
    this.#rest = '';
    return this.#shown(rest, this.#isText ? this.#values : this.#bytes);
  }

  get isHolding(): boolean {
    return this.#rest !== '';
  }

  #shown(text: string, values: readonly string[]): string | Buffer {
    const masked = hideValuesAndKeys(text, values);
    return this.#isText ? masked : Buffer.from(masked, 'latin1');
  }
}

/** How many characters at the end may be the beginning of a secret or of a key. */
function unfinished(text: string, values: readonly string[]): number {
  const held = startOfValue(text, values);
  // A line can end before a key: `token:` and the key below.
  const key = UNFINISHED_KEY.exec(text.slice(-MAX_KEY_LENGTH))?.[0].length ?? 0;
  return withWholeKeys(text, withWholeValues(text, values, Math.max(held, key < MAX_KEY_LENGTH ? key : 0)));
}

/** The length of the longest beginning of a value that the text ends with. */
function startOfValue(text: string, values: readonly string[]): number {
  let held = 0;
  for (const value of values) {
    const first = value[0] ?? '';
    let at = text.indexOf(first, Math.max(0, text.length - value.length + 1));
    while (at >= 0 && text.length - at > held) {
      if (value.startsWith(text.slice(at))) held = text.length - at;
      at = text.indexOf(first, at + 1);
    }
  }
  return held;
}

/** Holds back all of a value that the end of the shown part would cut in two. */
function withWholeValues(text: string, values: readonly string[], held: number): number {
  if (held === 0) return 0;
  let edge = text.length - held;
  for (const value of values) {
    const at = text.indexOf(value, Math.max(0, edge - value.length + 1));
    if (at >= 0 && at < edge) edge = at;
  }
  return text.length - edge;
}

/** Holds back all of a word, and of what looks like a key, that the end of the shown part would cut in two. */
function withWholeKeys(text: string, held: number): number {
  if (held === 0) return 0;
  const last = text.slice(-2 * MAX_KEY_LENGTH);
  return last.length - startOfKey(last, Math.max(0, last.length - held));
}

/** Fewer characters tell nothing, and are in other texts by chance. */
const MIN_PART_LENGTH = 4;

/** A longer word is no key. */
const MAX_KEY_LENGTH = 512;
