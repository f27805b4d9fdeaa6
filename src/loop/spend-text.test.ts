import { expect, it } from 'vitest';
import { costOf, knownTokens, tokensOf } from './spend-text.ts';
import { NOTHING_SPENT } from './limits.ts';

const tokens = { input: 10, output: 2, cacheRead: 3, cacheWrite: 0 };
const known = { ...NOTHING_SPENT, usd: 0.5, source: 'reported', tokens } as const;
const unknown = { ...NOTHING_SPENT, unknownRuns: 2, unknownTokenRuns: 2 };

it('says what a sum leaves out, and how that is charged', () => {
  expect(costOf(known)).toBe('$0.5000 reported');
  const partly = { ...known, unknownRuns: 2, unknownTokenRuns: 1 };
  expect(costOf(partly)).toBe('$0.5000 reported (plus 2 runs of unknown cost)');
  expect(costOf(partly, { runs: 2, sum: 1.5 })).toBe(
    '$0.5000 reported (plus 2 runs of unknown cost, charged like the most expensive known run: $1.5000 in all)',
  );
  expect(costOf(partly, { runs: 1, sum: 1 })).toBe(
    '$0.5000 reported (plus 2 runs of unknown cost, 1 of them charged like the most expensive known run: $1.0000 in all)',
  );
  expect(tokensOf({ ...known, estimatedOutputRuns: 1 })).toBe(
    '10 in, 2 out, 3 cache read, 0 cache write (output estimated in 1 run)',
  );
  expect(tokensOf(partly, { runs: 1, sum: 30 })).toBe(
    '10 in, 2 out, 3 cache read, 0 cache write (plus 1 run of unknown usage, charged like the most expensive known run: 30 tokens in all)',
  );
});

it('does not take an unknown sum for zero', () => {
  expect([costOf(unknown), tokensOf(unknown), knownTokens(unknown)]).toEqual(['unknown', null, null]);
  expect(knownTokens({ ...known, unknownTokenRuns: 1 })).toEqual(tokens);
  expect(knownTokens(NOTHING_SPENT)).toEqual(NOTHING_SPENT.tokens);
  expect(costOf({ ...known, usd: 0 })).toBe('$0.0000 reported');
});
