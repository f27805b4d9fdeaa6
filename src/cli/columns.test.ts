import { expect, it } from 'vitest';
import { columns, wrap } from './columns.ts';

it('aligns columns by what a terminal shows, not by the length of the text', () => {
  expect(
    columns([
      ['NAME', 'STATUS'],
      ['日本', 'done'],
      ['a', 'paused'],
    ]),
  ).toBe('NAME  STATUS\n日本  done\na     paused\n');
});

it('wraps a text between words, and breaks a word that does not fit', () => {
  expect(wrap('short', 80)).toEqual(['short']);
  expect(wrap('one two three four five six', 20)).toEqual(['one two three four', 'five six']);
  expect(wrap(`see ${'x'.repeat(45)}`, 20)).toEqual(['see', 'x'.repeat(20), 'x'.repeat(20), 'xxxxx']);
  expect(wrap('漢字'.repeat(11), 20)).toEqual(['漢字'.repeat(5), '漢字'.repeat(5), '漢字']);
  expect(wrap('any width at all, even none', Number.POSITIVE_INFINITY)).toHaveLength(1);
});

it('breaks the widest cells where a line is wider than the terminal', () => {
  const rows = [
    ['NAME', 'COMMAND'],
    ['a', 'echo one two three four'],
    ['b', 'x'.repeat(30)],
  ];
  expect(columns(rows, { width: 20 })).toBe(
    'NAME  COMMAND\na     echo one two\n      three four\nb     xxxxxxxxxxxxxx\n      xxxxxxxxxxxxxx\n      xx\n',
  );
  expect(columns(rows, { width: 20, cut: true })).toBe(
    'NAME  COMMAND\na     echo one two …\nb     xxxxxxxxxxxxx…\n',
  );
});
