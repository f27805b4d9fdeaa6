import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { sha256 } from './sha256.ts';

it('is the hash that node:crypto computes, for texts of every length around a block', () => {
  for (let length = 0; length < 200; length++) {
    const text = '/wörk/'.repeat(40).slice(0, length);
    expect(sha256(text)).toBe(createHash('sha256').update(text).digest('hex'));
  }
});

it('is the same for long texts', () => {
  for (const length of [4000, 8192, 8193, 100_000]) {
    const text = 'ö'.repeat(length / 2);
    expect(sha256(text)).toBe(createHash('sha256').update(text).digest('hex'));
  }
});
