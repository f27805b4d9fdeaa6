import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { offsetsOf, positionAt, syntaxErrorIn } from './json-text.ts';

describe('offsetsOf', () => {
  it('finds every value at its key, or at itself in a list', () => {
    const text = '{\n  "a": 1,\n  "list": [\n    { "b":\n      true },\n    "c"\n  ],\n  "\\u0064": {}\n}';
    const positions = [...offsetsOf(text)].map(([path, offset]) => {
      const { line, column } = positionAt(text, offset);
      return [path, `${line}:${column}`];
    });
    expect(Object.fromEntries(positions)).toEqual({
      '': '1:1',
      a: '2:3',
      list: '3:3',
      'list[0]': '4:5',
      'list[0].b': '4:7',
      'list[1]': '6:5',
      d: '8:3',
    });
  });

  it('finds the last of two equal keys, which is the one that counts', () => {
    expect(offsetsOf('{ "a": 1, "a": 2 }').get('a')).toBe(10);
  });
});

describe('syntaxErrorIn', () => {
  it.each([
    ['{ "a": 1,\n }', '1:9', 'remove the comma after the last entry'],
    ['{ a: 1 }', '1:3', 'unexpected "a", expected a key in double quotes'],
    ['{ "a" 1 }', '1:7', 'expected ":"'],
    ['{\n"a": 1\n"b": 2 }', '3:1', 'expected ","'],
    ['[1 2]', '1:4', 'expected ","'],
    ['{ "a": nope }', '1:8', 'unexpected "nope", expected a value'],
    ['{ "a": 01 }', '1:9', 'expected ","'],
    ['{ "a": 1. }', '1:8', 'the number is incomplete'],
    ['{ "a": 1', '1:9', 'expected "}"'],
    ['[1', '1:3', 'expected "]"'],
    ['{}\n// done', '2:1', 'comments are not allowed in JSON; remove them'],
    ['{} {}', '1:4', 'expected the end of the file'],
    ['', '1:1', 'expected a value'],
    ['{ "a": "x', '1:8', 'the string has no closing quote'],
    ['{ "a": "\t" }', '1:8', 'the string contains a control character'],
    [String.raw`{ "a": "\x" }`, '1:8', 'the string contains an invalid escape'],
  ])('%j is wrong at %s: %s', (text, at, message) => {
    const error = syntaxErrorIn(text);
    expect(`${error?.line}:${error?.column}`).toBe(at);
    expect(error?.message).toBe(message);
  });

  it('finds an error where `JSON.parse` does, and nowhere else', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(syntaxErrorIn(text)).toBeNull();
        expect(syntaxErrorIn(`${text}\n ,`)).not.toBeNull();
      }),
    );
  });
});
