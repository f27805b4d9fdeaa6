import type { Misplacement } from './completion.ts';

/**
 * Searches for one thing in a text that arrives in pieces. Immutable: `read` returns the matcher after the next piece.
 * It keeps only what a later match may need, not the text.
 */
export interface Matcher {
  /** Reads the next piece; the result does not depend on where the text is cut. */
  read(text: string): Matcher;
  /** The match; with `ended` the text is complete, so a match at its very end counts too. */
  found(ended: boolean): string | null;
  /** Where the text that has ended contains the thing without a match; only for matchers that look at its place. */
  missed?(): Misplacement | null;
  /** Number of characters kept. */
  readonly held: number;
}

/** Bounds the text that a matcher keeps: tags are no longer than this, and matches of a pattern no longer than half. */
export const MAX_MATCH_LENGTH = 65_536;

/** A matcher with a final result. */
export function settled(match: string | null): Matcher {
  const matcher: Matcher = { read: () => matcher, found: () => match, held: 0 };
  return matcher;
}

/** The match of the first matcher, else that of the second. */
export function either(one: Matcher, other: Matcher): Matcher {
  return {
    read: (text) => either(one.read(text), other.read(text)),
    found: (ended) => one.found(ended) ?? other.found(ended),
    held: one.held + other.held,
  };
}

/**
 * Reads the first piece only once that matters. Most messages come in one piece and have nothing that `needed` finds, and without
 * that the matcher has nothing to find either.
 */
export function deferred(matcher: Matcher, needed: RegExp): Matcher {
  const waiting = (text: string): Matcher => {
    let read: Matcher | null = null;
    const inner = (): Matcher => (read ??= matcher.read(text));
    return {
      read: (more) => inner().read(more),
      found: (ended) => (needed.test(text) ? inner().found(ended) : null),
      missed: () => (needed.test(text) ? (inner().missed?.() ?? null) : null),
      held: text.length,
    };
  };
  return {
    ...matcher,
    read: (text) => (text.length > MAX_MATCH_LENGTH ? matcher.read(text) : waiting(text)),
  };
}

/** Compares ignoring case, like the `i` flag of a regular expression for common letters. */
export function sameIgnoringCase(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

/** Escapes a literal text for a regular expression. */
export function escapeForPattern(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}
