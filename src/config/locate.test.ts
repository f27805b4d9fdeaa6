import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { brokenAt, linesOf } from './locate.ts';

describe('a JSON text', () => {
  it('has a line for every value: that of its key', () => {
    const text = '{\n  "a": 1,\n  "list": [\n    { "b":\n      true },\n    "c"\n  ],\n  "\\u0064": {}\n}';
    expect(Object.fromEntries(linesOf(text))).toEqual({
      '': 1,
      a: 2,
      list: 3,
      'list[0]': 4,
      'list[0].b': 4,
      'list[1]': 6,
      d: 8,
    });
  });

  it.each([
    ['{ "a": 1,\n }', 2, 'a key in double quotes'],
    ['{ a: 1 }', 1, 'a key in double quotes'],
    ['{ "a" 1 }', 1, '":"'],
    ['{\n"a": 1\n"b": 2 }', 3, '"," or "}"'],
    ['[1 2]', 1, '"," or "]"'],
    ['{ "a": nope }', 1, 'a value'],
    ['{ "a": 01 }', 1, 'a value'],
    ['{}\n// done', 2, 'the end of the file'],
    ['', 1, 'a value'],
    ['{ "a": "x', 1, 'a value'],
  ])('%j is broken in line %i', (text, line, expected) => {
    expect(brokenAt(text)).toEqual({ line, expected });
  });

  it('is broken where `JSON.parse` says so, and nowhere else', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(brokenAt(text)).toBeNull();
        expect(brokenAt(`${text}\n ,`)).not.toBeNull();
      }),
    );
  });
});
