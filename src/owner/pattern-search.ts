/**
 * Searches for a pattern that a user has written, in limited time: one that backtracks (`(a+)+$`) must not freeze the
 * process, which may own other loops. The engine of the language cannot be interrupted, but a script in `node:vm` can.
 */
import { createContext, Script } from 'node:vm';
import type { PatternMatch, Search, UserPattern } from '../loop/pattern-matcher.ts';
import { UserError } from '../user-error.ts';

/** The second attempt is for a machine that was busy or asleep during the first one. */
export const searchInTime: Search = searchWithLimits(250, 2000);

export function searchWithLimits(firstMs: number, secondMs: number): Search {
  return (pattern, text, from) => {
    for (const limitMs of [firstMs, secondMs]) {
      const match = searchWithin(limitMs, pattern, text, from);
      if (match !== 'out of time') return match;
    }
    throw new UserError(
      `the done pattern ${pattern.written} needs more than ${secondMs / 1000} s to search ${text.length} characters of the agent's output, ` +
        'because it tries every way to divide a text, as (a+)+$ and (.*)*x do; ' +
        'repeat each part only once, as in a+$, and start the loop over with --fresh and the new --done-pattern',
    );
  };
}

function searchWithin(
  limitMs: number,
  pattern: UserPattern,
  text: string,
  from: number,
): PatternMatch | null | 'out of time' {
  const compiled = compiledOf(pattern);
  compiled.lastIndex = from;
  search ??= newSearch();
  try {
    const match = search(compiled, text, limitMs);
    return match === null ? null : { index: match.index, text: match[0] };
  } catch (error) {
    // An error of another context is no `Error` of this one.
    if (typeof error === 'object' && error !== null && 'code' in error && error.code === TIMED_OUT)
      return 'out of time';
    throw error;
  }
}

const TIMED_OUT = 'ERR_SCRIPT_EXECUTION_TIMEOUT';

type TimedSearch = (pattern: RegExp, text: string, limitMs: number) => RegExpExecArray | null;

/** Made once, and only if it is needed: a context takes half a millisecond, a search in it less than a tenth. */
let search: TimedSearch | null = null;

function newSearch(): TimedSearch {
  const box: { search: () => void } = { search: () => {} };
  const context = createContext(box);
  const script = new Script('search()');
  return (pattern, text, limitMs) => {
    let match: RegExpExecArray | null = null;
    box.search = () => {
      match = pattern.exec(text);
    };
    script.runInContext(context, { timeout: limitMs });
    return match;
  };
}

function compiledOf(pattern: UserPattern): RegExp {
  const known = compiled.get(pattern);
  if (known !== undefined) return known;
  const made = new RegExp(pattern.source, `${pattern.flags}g`);
  compiled.set(pattern, made);
  return made;
}

const compiled = new WeakMap<UserPattern, RegExp>();
