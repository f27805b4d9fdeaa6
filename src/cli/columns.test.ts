import { expect, it } from 'vitest';
import { columns } from './columns.ts';

it('aligns columns by what a terminal shows, not by the length of the text', () => {
  expect(
    columns([
      ['NAME', 'STATUS'],
      ['日本', 'done'],
      ['a', 'paused'],
    ]),
  ).toBe('NAME  STATUS\n日本  done\na     paused\n');
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
