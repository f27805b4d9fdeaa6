import type { Matcher } from './matcher.ts';
import { ownLineTag } from './own-line-matcher.ts';

/** Like `ownLineTag`, but only on the last line that is not blank: any later text takes the claim back. */
export function lastLineTag(name: string, value: string): Matcher {
  const fresh = ownLineTag(name, value);
  const reading = (inner: Matcher, wasTakenBack: boolean): Matcher => ({
    read(text) {
      let current = inner;
      let takenBack = wasTakenBack;
      for (const line of text.split(/(?<=\n)/)) {
        // A tag counts only outside of code and quotation, so the text after it begins outside of them, too.
        if (current.found(false) !== null && line.trim() !== '') {
          current = fresh;
          takenBack = true;
        }
        current = current.read(line);
      }
      return reading(current, takenBack);
    },
    // Before the end of the text, more of it may follow.
    found: (ended) => (ended ? inner.found(true) : null),
    missed: () => (inner.found(true) === null ? (inner.missed?.() ?? (wasTakenBack ? 'text' : null)) : null),
    held: inner.held,
  });
  return reading(fresh, false);
}
