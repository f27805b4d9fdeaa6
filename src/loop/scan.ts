/**
 * Reads an agent's stream piece by piece and finds the agent's claim to be done.
 *
 * 1. It reads only the agent's own text, never the echoed prompt, tool results or reasoning.
 * 2. The result does not depend on how the text is cut into pieces.
 * 3. Memory is bounded by the detectors, not by the length of the text.
 */
import {
  isTextDetector,
  type Claim,
  type Detector,
  type NearMiss,
  type Scope,
  type TextDetector,
} from './completion.ts';
import { lastLineTag } from './last-line-matcher.ts';
import { deferred, either, settled, type Matcher } from './matcher.ts';
import { ownLineTag } from './own-line-matcher.ts';
import { pattern, type Search } from './pattern-matcher.ts';
import { translatePattern } from './python-pattern.ts';
import { alone, anyTag, firstTag } from './tag-matcher.ts';
import { word } from './word-matcher.ts';

/**
 * A scanner before the first piece; `search` runs the users' patterns. All runs of a policy begin with the same, since its
 * patterns take long to compile.
 */
export function startScan(detectors: readonly Detector[], search: Search): Scanner {
  const known = started.get(detectors);
  if (known?.search === search) return known.scanner;
  const scanner = new PieceScanner(
    detectors.filter(isTextDetector).flatMap((detector) => {
      const begin = {
        text: matcherFor(detector, false, search),
        answer: matcherFor(detector, true, search),
      };
      const matcher = begin.text;
      const last: Reader = { detector, begin, message: null, matcher, readsAll: false, missedBefore: false };
      return detector.scope === 'captured' ? [last, { ...last, readsAll: true }] : [last];
    }),
  );
  started.set(detectors, { search, scanner });
  return scanner;
}

const started = new WeakMap<readonly Detector[], { readonly search: Search; readonly scanner: Scanner }>();

/** Finds the longest claim in a text that stands alone. */
export function claimFinder(detectors: readonly Detector[], search: Search): (text: string) => string | null {
  const matchers = detectors.filter(isTextDetector).map((detector) => matcherFor(detector, false, search));
  return (text) =>
    matchers
      .map((matcher) => matcher.read(text).found(true))
      .reduce((one, other) => ((other?.length ?? 0) > (one?.length ?? 0) ? other : one), null);
}

export interface Scanner {
  read(piece: Piece): Scanner;
  /** The claim, if there is one; while the run continues, only a final match of a `continuous` detector. */
  claim(ended: boolean): Claim | null;
  /** Without a claim: a tag of a detector that does not count because of its place, once the run has ended. */
  nearMiss(): NearMiss | null;
  /** Number of characters kept. */
  readonly held: number;
}

/** A part of a run's output. Pieces of one message share its id. */
export interface Piece {
  readonly source: PieceSource;
  readonly message: string;
  readonly text: string;
  /** From the same session, but before the loop began. */
  readonly earlier?: boolean;
}

export type PieceSource =
  /** The agent's own text. */
  | 'assistant'
  /** The final answer, where the stream reports it separately. */
  | 'answer'
  /** The last message again, where the stream reports its end but no answer. */
  | 'last-message'
  /** Output of an agent whose stream cannot be parsed. */
  | 'raw'
  /** The current terminal screen, without what was there before the prompt. */
  | 'screen'
  /** The stderr of an agent whose stream cannot be parsed. */
  | 'complaint'
  /** The echoed prompt. */
  | 'prompt'
  /** What a tool printed. */
  | 'tool'
  /** The agent's reasoning. */
  | 'reasoning';

const IN_SCOPE: Readonly<Record<Scope, readonly PieceSource[]>> = {
  'assistant-text': ['assistant', 'answer', 'last-message'],
  'final-answer': ['assistant', 'answer', 'last-message'],
  captured: ['assistant', 'answer', 'last-message', 'complaint'],
  'raw-output': ['raw'],
  screen: ['screen'],
};

interface Reader {
  readonly detector: TextDetector;
  /** Matchers before a text and before an answer. They have compiled patterns, so each message begins with the same. */
  readonly begin: Readonly<Record<'text' | 'answer', Matcher>>;
  readonly message: string | null;
  readonly matcher: Matcher;
  /** Reads all messages as one text, for as long as the stream reports no answer. */
  readonly readsAll: boolean;
  /** An earlier message had the tag, as a claim or not. */
  readonly missedBefore: boolean;
}

class PieceScanner implements Scanner {
  readonly #readers: readonly Reader[];

  constructor(readers: readonly Reader[]) {
    this.#readers = readers;
  }

  get held(): number {
    return this.#readers.reduce((sum, { matcher }) => sum + matcher.held, 0);
  }

  read(piece: Piece): Scanner {
    if (piece.text === '' || !this.#readers.some((reader) => isInScope(reader, piece))) return this;
    return new PieceScanner(this.#readers.map((reader) => readOn(reader, piece)));
  }

  claim(ended: boolean): Claim | null {
    return claimOf(this.#readers, ended);
  }

  nearMiss(): NearMiss | null {
    const readers = this.#readers;
    if (claimOf(readers, true) !== null) return null;
    const inLast = readers.find(({ matcher }) => isMissed(matcher));
    const where = inLast?.matcher.missed?.() ?? 'earlier-message';
    const { detector } = inLast ?? readers.find(({ missedBefore }) => missedBefore) ?? {};
    return detector === undefined || !('placement' in detector) ? null : { tag: tagOf(detector), where };
  }
}

function claimOf(readers: readonly Reader[], ended: boolean): Claim | null {
  for (const { detector, matcher } of readers) {
    if (!ended && detector.phase !== 'continuous') continue;
    const text = matcher.found(ended);
    if (text !== null) return { by: detector.kind, text };
  }
  return null;
}

function isInScope({ detector }: Reader, { source, earlier }: Piece): boolean {
  return IN_SCOPE[detector.scope].includes(source) && !(earlier === true && detector.history === 'loop');
}

function readOn(reader: Reader, piece: Piece): Reader {
  const { detector } = reader;
  if (!isInScope(reader, piece)) return reader;
  if (reader.readsAll) return readAll(reader, piece);
  const begins = readsLastMessageOnly(detector) && reader.message !== piece.message;
  const matcher = begins ? reader.begin[isAnswer(piece.source) ? 'answer' : 'text'] : reader.matcher;
  const missedBefore = reader.missedBefore || (begins && hasTag(reader.matcher));
  return { ...reader, message: piece.message, matcher: matcher.read(piece.text), missedBefore };
}

function isMissed(matcher: Matcher): boolean {
  return (matcher.missed?.() ?? null) !== null;
}

/** Whether a text that has ended has the tag, as a claim or not, if the matcher looks at its place. */
function hasTag(matcher: Matcher): boolean {
  return matcher.missed !== undefined && (isMissed(matcher) || matcher.found(true) !== null);
}

function tagOf({ kind, value }: Extract<TextDetector, { placement: unknown }>): string {
  const name = kind === 'promise-tag' ? 'promise' : 'response';
  return `<${name}>${value.length > MAX_SHOWN_LENGTH ? `${value.slice(0, MAX_SHOWN_LENGTH)}…` : value}</${name}>`;
}

const MAX_SHOWN_LENGTH = 200;

function readAll(reader: Reader, { source, text }: Piece): Reader {
  if (source === 'last-message') return reader;
  return { ...reader, matcher: source === 'answer' ? settled(null) : reader.matcher.read(text) };
}

/** Only the last message counts on a screen, and if a later message can take back a claim. */
function readsLastMessageOnly(detector: TextDetector): boolean {
  if (LAST_MESSAGE.has(detector.scope)) return true;
  return 'placement' in detector && detector.placement !== 'anywhere';
}

const LAST_MESSAGE: ReadonlySet<Scope> = new Set<Scope>(['final-answer', 'captured', 'screen']);

function isAnswer(source: PieceSource): boolean {
  return source === 'answer' || source === 'last-message';
}

const ON_A_LINE = { 'own-line': ownLineTag, 'last-line': lastLineTag } as const;

function onLine(placement: keyof typeof ON_A_LINE, name: string, value: string): Matcher {
  return deferred(ON_A_LINE[placement](name, value), new RegExp(`</${name}>`, 'i'));
}

function matcherFor(detector: TextDetector, readsAnswer: boolean, search: Search): Matcher {
  switch (detector.kind) {
    case 'response-tag':
      if (detector.placement !== 'anywhere') return onLine(detector.placement, 'response', detector.value);
      // A final answer that consists only of the value needs no tag.
      return readsAnswer && (detector.scope === 'final-answer' || detector.scope === 'captured')
        ? either(firstTag('response', detector.value), alone(detector.value))
        : firstTag('response', detector.value);
    case 'promise-tag':
      return detector.placement === 'anywhere'
        ? anyTag('promise', detector.value)
        : onLine(detector.placement, 'promise', detector.value);
    case 'word':
      return word(detector.value, detector.within);
    case 'pattern': {
      const translation = translatePattern(detector.pattern);
      if (!translation.ok) throw new Error(`pattern was not validated: ${translation.message}`);
      const { source, flags } = translation;
      return pattern({ written: detector.pattern, source, flags }, search);
    }
  }
}
