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

it('breaks a long word after punctuation where possible', () => {
  expect(wrap('/home/someone/projects/shop/.ralph', 20)).toEqual(['/home/someone/', 'projects/shop/.ralph']);
  expect(wrap('["npm","run","test","lint"]', 16)).toEqual(['["npm","run",', '"test","lint"]']);
  expect(wrap('.ralph/settings.json:3:15', 23)).toEqual(['.ralph/', 'settings.json:3:15']);
  // A mark near the start would leave most of the line empty.
  expect(wrap(`a:${'x'.repeat(30)}`, 20)).toEqual([`a:${'x'.repeat(18)}`, 'x'.repeat(12)]);
});

it('indents the continuation of a first cell', () => {
  expect(columns([['limits/iterationTimeout', 'two words']], { width: 29 })).toBe(
    'limits/             two words\n  iterationTimeout\n',
  );
});

it('does not break a word in one column if there are spaces in another', () => {
  const rows = [['includeIterationCount', 'one two three four five']];
  expect(columns(rows, { width: 36 })).toBe(
    'includeIterationCount  one two three\n                       four five\n',
  );
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
