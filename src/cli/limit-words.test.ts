import { expect, it } from 'vitest';
import { limitWords } from './limit-words.ts';

it('tells the limits that were changed, and no others', () => {
  expect(limitWords({ iterations: 7, timeMs: 3_600_000 })).toBe(
    'at most 7 iterations, at most 1h 0m at work',
  );
  expect(limitWords({ iterations: 1, costUsd: 2.5, failures: 3 })).toBe(
    'at most 1 iteration, at most $2.5, at most 3 failures in a row',
  );
  expect(limitWords({ iterations: null, tokens: 1000, outputBytes: 2048 })).toBe(
    'any number of iterations, at most 1000 tokens, at most 2048 bytes of output',
  );
});
