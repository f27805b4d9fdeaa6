import { describe, expect, it } from 'vitest';
import { Mask } from '../home/mask.ts';
import { MAX_CHARS, shownData, shownText } from './text.ts';

const NONE = new Mask();

describe('a text for a client', () => {
  it('shows control characters and invisible ones, and keeps lines and tabs', () => {
    expect(shownText('a\u001B[31mred\u001B[0m\tb\r\nc\u0007\u202Ed\u200B\n', NONE)).toBe(
      'ared\tb\nc\\u{0007}\\u{202e}d\\u{200b}',
    );
  });

  it('has no secret of the environment, and nothing that looks like a key', () => {
    const mask = new Mask({ MY_TOKEN: 'a-long-secret-value' });
    expect(shownText('is a-long-secret-value, Bearer abcdefghijklmnop123', mask)).toBe(
      'is <redacted>, <redacted>',
    );
    expect(shownData({ list: ['a-long-secret-value', 1, null] }, mask)).toEqual({
      list: ['<redacted>', 1, null],
    });
  });

  it('loses its middle if it is long, and says how much', () => {
    const text = shownText(`first\n${'x'.repeat(2 * MAX_CHARS)}\nlast`, NONE);
    expect(text.length).toBeLessThan(MAX_CHARS + 100);
    expect(text).toMatch(/^first\nx+\n\[… \d+ characters left out …\]\nx+\nlast$/);
  });

  it('is not cut within a character', () => {
    const text = shownText('😀'.repeat(MAX_CHARS), NONE);
    expect(text).not.toMatch(/[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/);
  });
});
