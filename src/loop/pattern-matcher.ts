import { MAX_MATCH_LENGTH, settled, type Matcher } from './matcher.ts';

/**
 * Finds the first match of a user's pattern from a position on; the text before it is context. It is the caller's, since a
 * pattern may need any time (`(a+)+$`), and the core has no clock to limit it. It may throw.
 */
export type Search = (pattern: UserPattern, text: string, from: number) => PatternMatch | null;

/** A regular expression that a user has written, in Python's syntax and translated. */
export interface UserPattern {
  readonly written: string;
  /** The arguments of `new RegExp`. */
  readonly source: string;
  readonly flags: string;
}

export interface PatternMatch {
  readonly index: number;
  readonly text: string;
}

/**
 * A regular expression over a text that is still growing. Windows overlap by half, so that a match may span two. A match
 * that touches the end of the text so far (it may be `$`, or grow) counts only once the text has ended.
 */
export function pattern(wanted: UserPattern, search: Search): Matcher {
  // One character of context stays in front, so that `^` and look-behind do not match at a cut.
  const find = (text: string, atStart: boolean): PatternMatch | null => search(wanted, text, atStart ? 0 : 1);

  const waiting = (window: string, atStart: boolean): Matcher => {
    // Asked for several times, and a search may take long.
    let match: PatternMatch | null | undefined;
    return {
      read(text) {
        let seen = window + text;
        let first = atStart;
        while (seen.length >= MAX_MATCH_LENGTH) {
          const slice = seen.slice(0, MAX_MATCH_LENGTH);
          const found = find(slice, first);
          // Complete lines are final; if the last line fills half of the window, all but its very end is.
          const newline = slice.lastIndexOf('\n');
          const settledBefore = newline < HALF ? slice.length : newline;
          if (found !== null && found.index + found.text.length < settledBefore)
            return settled(shorten(found.text));
          seen = seen.slice(HALF);
          first = false;
        }
        return waiting(seen, first);
      },
      found(ended) {
        if (match === undefined) match = find(window, atStart);
        if (match === null) return null;
        const settledBefore = ended ? Number.POSITIVE_INFINITY : window.lastIndexOf('\n');
        return match.index + match.text.length < settledBefore ? shorten(match.text) : null;
      },
      held: window.length,
    };
  };
  return waiting('', true);
}

const HALF = MAX_MATCH_LENGTH / 2;

function shorten(text: string): string {
  return text.slice(0, 200);
}
