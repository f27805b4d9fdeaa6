/**
 * Looks for one thing in a text that arrives in pieces. Immutable: `read` gives the matcher that has read on.
 * It keeps only what a match that may still come needs, never the text.
 */
export interface Matcher {
  /** Reads the next piece; where the text is cut into pieces makes no difference. */
  read(text: string): Matcher;
  /** What was found; with `ended` the text is over, and what hangs on its end is settled too. */
  found(ended: boolean): string | null;
  /** How many characters it holds on to. */
  readonly held: number;
}

/** Bounds what a matcher holds on to: no tag is longer than this, and no match of a pattern longer than half of it. */
export const LONGEST_MATCH = 65_536;

/** A matcher that has made up its mind. */
export function settled(match: string | null): Matcher {
  const matcher: Matcher = { read: () => matcher, found: () => match, held: 0 };
  return matcher;
}

/** What one of two matchers has found. */
export function either(one: Matcher, other: Matcher): Matcher {
  return {
    read: (text) => either(one.read(text), other.read(text)),
    found: (ended) => one.found(ended) ?? other.found(ended),
    held: one.held + other.held,
  };
}

/** Compares without regard to case, the way the `i` flag of a regular expression does for common letters. */
export function sameIgnoringCase(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

/** A literal text inside a regular expression. */
export function escapeForPattern(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}
