import { expect, it } from 'vitest';
import { limitWords } from './limits.ts';

it('names the limits that were changed, and no others', () => {
  expect(limitWords({ iterations: 7, timeMs: 3_600_000 })).toBe(
    'at most 7 iterations, at most 1h 0m of active time',
  );
  expect(limitWords({ iterations: 1, costUsd: 2.5, failures: 3 })).toBe(
    'at most 1 iteration, at most $2.5, at most 3 consecutive failures',
  );
  expect(limitWords({ iterations: null, tokens: 1000, outputBytes: 2048 })).toBe(
    'no iteration limit, at most 1000 tokens, at most 2048 bytes of output per run',
  );
});
