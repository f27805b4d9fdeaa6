import { expect, it } from 'vitest';
import { exactDuration } from './counted.ts';

it.each([
  [0, '0s'],
  [300, '300ms'],
  [1500, '1.5s'],
  [300_000, '5m0s'],
  [3_600_000, '1h0m0s'],
  [3_661_001, '1h1m1.001s'],
])('S1.40 S1.51 writes %d ms as document 000 does: %s', (ms, text) => {
  expect(exactDuration(ms)).toBe(text);
});
