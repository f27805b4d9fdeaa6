import { expect, it } from 'vitest';
import { lastStart, windowOf } from './style.ts';

const LINES = Array.from({ length: 10 }, (_, index) => `line ${index}`);

it('shows a part of a text, or its end', () => {
  const size = { columns: 20, height: 3 };
  expect(windowOf(LINES, 2, size)).toEqual(['line 2', 'line 3', 'line 4']);
  expect(windowOf(LINES, null, size)).toEqual(['line 7', 'line 8', 'line 9']);
  expect(lastStart(LINES, size)).toBe(7);
  expect(windowOf(['a'], null, size)).toEqual(['a']);
  expect(lastStart(['a'], size)).toBe(0);
});

it('continues a wide line on the next ones, and ends with the end of the text', () => {
  const lines = ['one', 'a line that is wider than the screen', 'last'];
  const size = { columns: 20, height: 3 };
  expect(windowOf(lines, null, size)).toEqual(['a line that is wider', 'than the screen', 'last']);
  expect(lastStart(lines, size)).toBe(1);
});
