import { expect, it } from 'vitest';
import { mergeByHand, shellQuote } from './shell-quote.ts';

it.each(['plain', '/a/b-c_d.e', 'user@host:path', '--flag=value', 'a,b+c%d'])(
  'leaves %j as it is',
  (word) => {
    expect(shellQuote(word)).toBe(word);
  },
);

it('quotes what a shell would interpret', () => {
  expect(shellQuote("it's $(id)")).toBe(String.raw`'it'\''s $(id)'`);
  expect(mergeByHand('a;b')).toBe("git merge 'a;b'");
});
