import { MAX_MATCH_LENGTH, settled, type Matcher } from './matcher.ts';

/**
 * A regular expression over a text that is still growing. Windows overlap by half, so that a match may span two. A match
 * that touches the end of the text so far (it may be `$`, or grow) counts only once the text has ended.
 */
export function pattern(compiled: RegExp): Matcher {
  const search = new RegExp(
    compiled.source,
    compiled.flags.includes('g') ? compiled.flags : `${compiled.flags}g`,
  );

  // One character of context stays in front, so that `^` and look-behind do not match at a cut.
  const find = (text: string, atStart: boolean): RegExpExecArray | null => {
    search.lastIndex = atStart ? 0 : 1;
    return search.exec(text);
  };

  const waiting = (window: string, atStart: boolean): Matcher => ({
    read(text) {
      let seen = window + text;
      let first = atStart;
      while (seen.length >= MAX_MATCH_LENGTH) {
        const slice = seen.slice(0, MAX_MATCH_LENGTH);
        const match = find(slice, first);
        // Complete lines are final; if the last line fills half of the window, all but its very end is.
        const newline = slice.lastIndexOf('\n');
        const settledBefore = newline < HALF ? slice.length : newline;
        if (match !== null && match.index + match[0].length < settledBefore)
          return settled(shorten(match[0]));
        seen = seen.slice(HALF);
        first = false;
      }
      return waiting(seen, first);
    },
    found(ended) {
      const match = find(window, atStart);
      if (match === null) return null;
      const settledBefore = ended ? Number.POSITIVE_INFINITY : window.lastIndexOf('\n');
      return match.index + match[0].length < settledBefore ? shorten(match[0]) : null;
    },
    held: window.length,
  });
  return waiting('', true);
}

const HALF = MAX_MATCH_LENGTH / 2;

function shorten(text: string): string {
  return text.slice(0, 200);
}
