import { expect, it } from 'vitest';
import { parseChangedLines } from './changed-lines.ts';

const raw = (letter: string, path: string): string =>
  `:100644 100644 ${'0'.repeat(40)} ${'1'.repeat(40)} ${letter}\0${path}\0`;

it('reads the files, their kind and their changed lines', () => {
  const output = [
    raw('A', 'new\nname'),
    raw('D', 'gone.ts'),
    raw('M', 'image.png'),
    '3\t0\tnew\nname\0',
    '0\t12\tgone.ts\0',
    '-\t-\timage.png\0',
  ].join('');
  expect(parseChangedLines(output)).toEqual([
    { path: 'new\nname', kind: 'new', added: 3, removed: 0 },
    { path: 'gone.ts', kind: 'gone', added: 0, removed: 12 },
    { path: 'image.png', kind: 'changed', added: null, removed: null },
  ]);
});

it('reads file names that look like git output', () => {
  const output = [raw('A', '1\t2\tfile'), raw('A', ':a M'), '7\t0\t1\t2\tfile\0', '1\t1\t:a M\0'].join('');
  expect(parseChangedLines(output)).toEqual([
    { path: '1\t2\tfile', kind: 'new', added: 7, removed: 0 },
    { path: ':a M', kind: 'new', added: 1, removed: 1 },
  ]);
});

it('reads nothing from no difference', () => {
  expect(parseChangedLines('')).toEqual([]);
});
