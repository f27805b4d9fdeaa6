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
