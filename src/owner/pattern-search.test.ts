import { describe, expect, it } from 'vitest';
import type { UserPattern } from '../loop/pattern-matcher.ts';
import { translatePattern } from '../loop/python-pattern.ts';
import { claimFinder, startScan } from '../loop/scan.ts';
import { searchInTime, searchWithLimits } from './pattern-search.ts';

function translated(written: string): UserPattern {
  const translation = translatePattern(written);
  if (!translation.ok) throw new Error(translation.message);
  return { written, source: translation.source, flags: translation.flags };
}

const soon = searchWithLimits(10, 50);
const find = (pattern: string, text: string, from = 0) => searchInTime(translated(pattern), text, from);

describe('the search for a pattern in limited time', () => {
  it.each([
    ['D.NE', 'it is DONE', 0, { index: 6, text: 'DONE' }],
    ['^b', 'ab', 1, null],
    ['(?<=a)b', 'ab', 1, { index: 1, text: 'b' }],
    ['a', 'aba', 1, { index: 2, text: 'a' }],
    ['$', '', 0, { index: 0, text: '' }],
    ['x', 'abc', 0, null],
  ])('finds %s in %j from %i as RegExp does', (pattern, text, from, match) => {
    expect(find(pattern, text, from)).toEqual(match);
    expect(find(pattern, text, from)).toEqual(match);
  });

  it.each(['(a+)+$', '(a|aa)+$', '(.*)*x', '(?:a?){40}a{40}b', '(a*)*b', '((a{0,100}){0,100}){0,100}$'])(
    'gives up on %s, and says what to do',
    (pattern) => {
      expect(() => soon(translated(pattern), `${'a'.repeat(3000)}c`, 0)).toThrow(
        `the done pattern ${pattern} needs more than 0.05 s to search 3001 characters of the agent's output`,
      );
      // The next search is not affected.
      expect(find('c', 'abc')).toEqual({ index: 2, text: 'c' });
    },
  );

  it('repeats a search once that needed more than the first limit, with more time', () => {
    // Quadratic: tens of milliseconds on a fast machine.
    const slow = translated('(?:.*)x');
    const text = 'a'.repeat(15_000);
    expect(() => searchWithLimits(1, 1)(slow, text, 0)).toThrow('needs more than');
    expect(searchWithLimits(1, 60_000)(slow, text, 0)).toBeNull();
  });

  it('stops a scanner and a finder of claims in the same way', () => {
    const detectors = [
      {
        kind: 'pattern',
        pattern: '(a+)+$',
        scope: 'assistant-text',
        phase: 'continuous',
        history: 'loop',
      },
    ] as const;
    const text = `${'a'.repeat(3000)}!`;
    const scanner = startScan(detectors, soon).read({ source: 'assistant', message: '1', text });
    expect(() => scanner.claim(false)).toThrow('the done pattern (a+)+$');
    expect(() => claimFinder(detectors, soon)(text)).toThrow('the done pattern (a+)+$');
  });
});
