import { describe, expect, it } from 'vitest';
import { parseDuration, parseSize, parseWhole } from './values.ts';

describe('values on the command line', () => {
  it.each([
    ['90', 90_000],
    ['90s', 90_000],
    ['15m', 900_000],
    ['2h', 7_200_000],
    ['300ms', 300],
    ['1.5s', 1500],
    ['0', 0],
  ])('parses the time %s as %d ms', (text, ms) => {
    expect(parseDuration('--max-time', text)).toBe(ms);
  });
  it.each(['', 'x', '3x', '-1', '1h30m', '1e3', ' '])('rejects the time %j', (text) => {
    expect(() => parseDuration('--max-time', text)).toThrow(
      `--max-time must be a time such as 90, 90s, 15m or 2h, got ${JSON.stringify(text)}`,
    );
  });
  it.each([
    ['1000', 1000],
    ['500k', 512_000],
    ['20M', 20_971_520],
    ['1gb', 1_073_741_824],
  ])('parses the size %s as %d bytes', (text, bytes) => {
    expect(parseSize('--max-output', text)).toBe(bytes);
  });
  it.each(['', '1t', '-5'])('rejects the size %j', (text) => {
    expect(() => parseSize('--max-output', text)).toThrow('--max-output must be a size');
  });
  it.each(['', '0', '1.5', 'ten', '-1', '1e9', '99999999999999999999'])(
    'rejects %j as a whole number from 1',
    (text) => {
      expect(() => parseWhole('-m', text, 1)).toThrow('-m must be a whole number >= 1, got');
    },
  );
  it('parses a whole number', () => {
    expect(parseWhole('-m', '12', 1)).toBe(12);
  });
});
