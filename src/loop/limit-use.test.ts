import { expect, it } from 'vitest';
import { limitUse, nearedText } from './limit-use.ts';

it('says how much of a limit is used', () => {
  expect(limitUse({ limit: 'costUsd', used: 1.2, of: 5 })).toBe('$1.20 of $5.00');
  expect(limitUse({ limit: 'costUsd', used: 0.0123, of: 0.05 })).toBe('$0.0123 of $0.0500');
  expect(limitUse({ limit: 'costUsd', used: null, of: 5 })).toBe('unknown of $5.00');
  expect(limitUse({ limit: 'tokens', used: 81_000, of: 100_000 })).toBe('81000 of 100000 tokens');
  expect(limitUse({ limit: 'timeMs', used: 2_880_000, of: 3_600_000 })).toBe('48m 0s of 1h 0m');
});

it('says that a limit is nearly reached, with the percentage', () => {
  expect(nearedText({ limit: 'costUsd', used: 4.1, of: 5 })).toBe(
    '82 % of the cost limit used: $4.10 of $5.00',
  );
  expect(nearedText({ limit: 'tokens', used: 80, of: 100 })).toBe(
    '80 % of the token limit used: 80 of 100 tokens',
  );
});
