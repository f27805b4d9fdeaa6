import { LONGEST_MATCH, settled, type Matcher } from './matcher.ts';

/**
 * A regular expression over a text that has no end yet. Half a window is searched again with the next one, so
 * that a match may lie across; a match that touches the end of what has arrived (it could be `$`, or grow) is
 * believed only when the text has ended.
 */
export function pattern(compiled: RegExp): Matcher {
  const search = new RegExp(
    compiled.source,
    compiled.flags.includes('g') ? compiled.flags : `${compiled.flags}g`,
  );

  // One character of context is kept in front, so that `^` and look-behind do not take a cut for the beginning.
  const find = (text: string, atStart: boolean): RegExpExecArray | null => {
    search.lastIndex = atStart ? 0 : 1;
    return search.exec(text);
  };

  const waiting = (window: string, atStart: boolean): Matcher => ({
    read(text) {
      let seen = window + text;
      let first = atStart;
      while (seen.length >= LONGEST_MATCH) {
        const slice = seen.slice(0, LONGEST_MATCH);
        const match = find(slice, first);
        // A whole line is settled; where the last line fills half of the window, only its very end is not.
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

const HALF = LONGEST_MATCH / 2;

function shorten(text: string): string {
  return text.slice(0, 200);
}
