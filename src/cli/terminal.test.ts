import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TerminalSanitizer, sanitize } from './terminal.ts';

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
  ])('shows %j as %j', (text, shown) => {
    expect(sanitize(text)).toBe(shown);
  });

  it('gives the same result wherever the text is cut, also within an escape sequence or a character', () => {
    const text = 'a\u001B[2Jb\u001B]0;title\u0007ü😀\u001B[1;31mred\u001B[0m\n';
    const bytes = Buffer.from(text);
    fc.assert(
      fc.property(fc.array(fc.nat({ max: bytes.length })), (cuts) => {
        const view = new TerminalSanitizer();
        let at = 0;
        let shown = '';
        for (const cut of [...cuts.toSorted((a, b) => a - b), bytes.length]) {
          shown += view.read(bytes.subarray(at, cut));
          at = cut;
        }
        expect(shown).toBe(sanitize(text));
      }),
    );
  });
});
