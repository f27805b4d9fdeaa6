import { escapeForPattern, settled, type Matcher } from './matcher.ts';

/**
 * A case-sensitive word; with `within: 'word'` it must stand alone, so that INCOMPLETE does not match COMPLETE: no letter,
 * digit or underscore of any script touches it. Its context does not count: "NOT COMPLETE" matches.
 */
export function word(value: string, within: 'word' | 'substring'): Matcher {
  if (within === 'substring') return substring(value, '');
  const pattern = new RegExp(String.raw`(?<![\p{L}\p{N}_])${escapeForPattern(value)}(?![\p{L}\p{N}_])`, 'gu');
  // Two code units before the word decide whether it stands alone; two more keep a surrogate pair whole.
  const keep = value.length + 4;

  const waiting = (tail: string, atStart: boolean): Matcher => ({
    read(text) {
      const seen = tail + text;
      // A match that begins earlier in the tail was already tested, when the text before it was still known.
      pattern.lastIndex = atStart ? 0 : 2;
      const match = pattern.exec(seen);
      if (match !== null && hasCharacterAt(seen, match.index + value.length)) return settled(value);
      return waiting(seen.slice(-keep), atStart && seen.length <= keep);
    },
    found(ended) {
      if (!ended) return null;
      pattern.lastIndex = atStart ? 0 : 2;
      return pattern.test(tail) ? value : null;
    },
    held: tail.length,
  });
  return waiting('', true);
}

/** Whether the character at this position has arrived; of a surrogate pair, both halves. */
function hasCharacterAt(text: string, at: number): boolean {
  return at + 1 < text.length || /^[^\uD800-\uDBFF]$/.test(text.slice(at));
}

function substring(value: string, tail: string): Matcher {
  return {
    read(text) {
      const seen = tail + text;
      if (seen.includes(value)) return settled(value);
      return substring(value, value.length > 1 ? seen.slice(1 - value.length) : '');
    },
    found: () => null,
    held: tail.length,
  };
}
