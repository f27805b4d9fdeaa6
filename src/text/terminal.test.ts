import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TerminalSanitizer } from './terminal-stream.ts';
import { escapeInJson, sanitize } from './terminal.ts';

describe('sanitizing what agents print on a terminal', () => {
  it.each([
    ['plain text\n\ttab', 'plain text\n\ttab'],
    ['\u001B[31mred\u001B[0m', '\u001B[31mred\u001B[0m'],
    ['a\u001B[2Jb', 'ab'],
    ['\u001B[8mhidden\u001B[0;8m', 'hidden'],
    ['a\u001B]0;title\u0007b', 'ab'],
    ['a\u001B]8;;http://x\u001B\\link', 'alink'],
    ['a\u001Bcb', 'ab'],
    ['over\rwritten\b\u0007', 'overwritten'],
    ['c1 \u009B2J', 'c1 2J'],
    ['wörld 😀', 'wörld 😀'],
    ['\u001B[08mhidden\u001B[1;008;31mtoo', 'hiddentoo'],
    ['\u001B[38;5;8mgrey\u001B[48;2;8;8;8mdark', '\u001B[38;5;8mgrey\u001B[48;2;8;8;8mdark'],
    // Overrides and isolates of the direction, as in a Trojan source.
    ['/*\u202E } \u2066if (isAdmin)\u2069 \u2066*/', '/*<U+202E> } <U+2066>if (isAdmin)<U+2069> <U+2066>*/'],
    ['a\u200Eb\u200Fc\u061Cd', 'a<U+200E>b<U+200F>c<U+061C>d'],
    ['user\u200Bname \u00ADx \uFEFF\u2060\u3164', 'user<U+200B>name <U+00AD>x <U+FEFF><U+2060><U+3164>'],
    ['x\u{E0041}\u{E0042}', 'x<U+E0041><U+E0042>'],
    ['x\uFE01\uFE02 \u{E0101}', 'x<U+FE01><U+FE02> <U+E0101>'],
    ['two\u2028lines', 'two<U+2028>lines'],
    // Emoji with joiners, a skin tone, a keycap and a flag made of tags.
    [
      '👩‍👩‍👧‍👦 👩🏽‍🚀 🏳️‍🌈 ❤️ 3️⃣ 🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}',
      '👩‍👩‍👧‍👦 👩🏽‍🚀 🏳️‍🌈 ❤️ 3️⃣ 🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}',
    ],
    ['👩\u200D\u200D x\u200Dy', '👩\u200D<U+200D> x<U+200D>y'],
    // Persian with a non-joiner, Hebrew, Hindi with a joiner, a Han variant.
    ['می\u200Cخواهم שלום क्\u200Dष 葛\u{E0100}', 'می\u200Cخواهم שלום क्\u200Dष 葛\u{E0100}'],
  ])('shows %j as %j', (text, shown) => {
    expect(sanitize(text, true)).toBe(shown);
  });

  it('removes colours too where the text goes into a pipe or a file', () => {
    expect(sanitize('\u001B[31mred\u001B[0m \u202Ex\r\n', false)).toBe('red <U+202E>x\n');
  });

  it('writes as escapes in JSON what a terminal obeys or hides, with the same meaning', () => {
    const texts = ['\u001B[2J\r\b', '\u009B2J\u007F', '\u202Ea\u2066\u200Bb', '\u{E0041} 👩‍👩‍👧 ü'];
    const json = escapeInJson(JSON.stringify(texts));
    expect(JSON.parse(json)).toEqual(texts);
    expect(sanitize(json, false)).toBe(json);
    expect(json).toContain(String.raw`\u009b2J\u007f`);
  });

  it('gives the same result wherever the text is cut, also within an escape sequence or a character', () => {
    const text =
      'a\u001B[2Jb\u001B]0;title\u0007ü😀\u001B[1;31mred\u001B[0m\n👩‍👩‍👧 ❤️ x\u200Dy 🏴\u{E0067}\u{E0062}\u{E0065}\u{E007F}\u202E';
    const bytes = Buffer.from(text);
    fc.assert(
      fc.property(fc.array(fc.nat({ max: bytes.length })), (cuts) => {
        const view = new TerminalSanitizer(true);
        let at = 0;
        let shown = '';
        for (const cut of [...cuts.toSorted((a, b) => a - b), bytes.length]) {
          shown += view.read(bytes.subarray(at, cut));
          at = cut;
        }
        expect(shown).toBe(sanitize(text, true));
      }),
    );
  });
});
