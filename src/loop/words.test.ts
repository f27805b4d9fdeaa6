import { describe, expect, it } from 'vitest';
import { isCommit, splitWords } from './words.ts';

describe('splitWords', () => {
  it.each([
    ['push', ['push']],
    ['  push\torigin  HEAD ', ['push', 'origin', 'HEAD']],
    ["-c 'user.name=A B' push", ['-c', 'user.name=A B', 'push']],
    ['say "it\'s" \'"\' a"b c"d', ['say', "it's", '"', 'ab cd']],
    [String.raw`a\ b "c\"d" 'e\f' g\\`, ['a b', 'c"d', String.raw`e\f`, 'g\\']],
    ["push '' x", ['push', '', 'x']],
    ['push; rm -rf $HOME | cat `x` > y', ['push;', 'rm', '-rf', '$HOME', '|', 'cat', '`x`', '>', 'y']],
    ['   ', []],
  ])('%s', (text, words) => {
    expect(splitWords(text)).toEqual(words);
  });

  it('gives null if a quote is not closed', () => {
    expect(splitWords('push "origin')).toBeNull();
    expect(splitWords("it's")).toBeNull();
  });
});

describe('isCommit', () => {
  it('accepts only the bare word', () => {
    const tasks = [' commit', '"commit"', 'commit --amend', 'push', 'commits', ''];
    expect(tasks.filter(isCommit)).toEqual([' commit', '"commit"']);
  });
});
