import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LineSplitter } from './lines.ts';

const split = (chunks: readonly Buffer[], maxLength?: number): (string | null)[] => {
  const splitter = new LineSplitter(maxLength);
  const lines = chunks.flatMap((chunk) => splitter.push(chunk));
  const rest = splitter.end();
  return rest === undefined ? lines : [...lines, rest];
};

describe('LineSplitter', () => {
  it('splits at line feeds only', () => {
    expect(split([Buffer.from('a\r\nb\u2028c\u0085d\n\ne')])).toEqual(['a', 'b\u2028c\u0085d', '', 'e']);
  });

  it('returns the same lines wherever the chunks end, also in the middle of a character', () => {
    const text = fc
      .array(fc.constantFrom('a', '\n', 'é', '😀', '\u2028'), { maxLength: 40 })
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 7 }), (whole, size) => {
        const bytes = Buffer.from(whole);
        const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
          bytes.subarray(n * size, (n + 1) * size),
        );
        expect(split(chunks)).toEqual(split([bytes]));
      }),
    );
  });

  it('accepts invalid UTF-8 and NUL bytes', () => {
    expect(split([Buffer.from([0xff, 0x00, 0x61, 0x0a])])).toEqual(['\ufffd\0a']);
  });

  it('drops a line that is too long and continues with the next one', () => {
    expect(split([Buffer.from('12345'), Buffer.from('678\nok\n')], 6)).toEqual([null, 'ok']);
    expect(split([Buffer.from('123456\n')], 6)).toEqual(['123456']);
    expect(split([Buffer.from('1234567')], 6)).toEqual([null]);
  });
});
