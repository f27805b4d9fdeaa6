import { expect, it } from 'vitest';
import { splitWords } from './words.ts';

it.each([
  ['--model opus', ['--model', 'opus']],
  ['  push   origin  HEAD ', ['push', 'origin', 'HEAD']],
  [`--title 'two words' --x="a b"c`, ['--title', 'two words', '--x=a bc']],
  [`it's`, ['it', "'", 's']],
  ['$(touch x) `id` ; rm', ['$(touch', 'x)', '`id`', ';', 'rm']],
  [`"" ''`, ['', '']],
  ['', []],
])('%j has the words %j, and no shell a say in them', (line, words) => {
  expect(splitWords(line)).toEqual(words);
});
