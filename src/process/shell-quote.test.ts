import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { shellQuote } from '../loop/shell-quote.ts';

const characters = Array.from({ length: 0x7f }, (_, code) => String.fromCharCode(code + 1));
const words = [
  '',
  '=ls',
  '~',
  'a b',
  "it's",
  'a>b',
  '<in',
  '$(id)',
  'é',
  ...characters,
  ...characters.map((one) => `a${one}b`),
];

it('quotes every other word, so that a shell passes it unchanged', () => {
  const script = words.map((word) => `printf '%s\\0' ${shellQuote(word)}`).join('; ');
  expect(execFileSync('/bin/sh', ['-c', script], { encoding: 'utf8' }).split('\0').slice(0, -1)).toEqual(
    words,
  );
  for (const word of ['=ls', 'a>b', '<in', 'a;b', 'a*b', 'a~b', 'é'])
    expect(shellQuote(word)).toBe(`'${word}'`);
});
