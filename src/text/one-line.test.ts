import { expect, it } from 'vitest';
import { visible } from './one-line.ts';

it.each([
  [
    'plain text stays as it is: äöü 漢字 ✓ "quoted" \\n',
    'plain text stays as it is: äöü 漢字 ✓ "quoted" \\n',
  ],
  ['line\nbreak\r\n\ttab', 'line\\nbreak\\r\\n\\ttab'],
  ['\u001B[2J\u0007\u007F\u009B', '\\u{001b}[2J\\u{0007}\\u{007f}\\u{009b}'],
  ['a\u202Eb\u2066c\u200Fd\u061C', 'a\\u{202e}b\\u{2066}c\\u{200f}d\\u{061c}'],
  ['zero\u200Bwidth\u2060\uFEFF\u00AD', 'zero\\u{200b}width\\u{2060}\\u{feff}\\u{00ad}'],
  [
    'blanks\u00A0\u3000\u2800\u3164\u115F\u2028',
    'blanks\\u{00a0}\\u{3000}\\u{2800}\\u{3164}\\u{115f}\\u{2028}',
  ],
  ['tag\u{E0041}\uFE0F\u{E000}', 'tag\\u{e0041}\\u{fe0f}\\u{e000}'],
  ['half\uD800', 'half\\u{d800}'],
  [
    `Việt a\u0301 \u0E19\u0E49\u0E33 \uD55C \u1112\u1161\u11AB`,
    `Việt a\u0301 \u0E19\u0E49\u0E33 \uD55C \u1112\u1161\u11AB`,
  ],
  [`a${'\u0301'.repeat(5)}b`, `a${'\u0301'.repeat(3)}\\u{0301}\\u{0301}b`],
  [`\u1112${'\u1161'.repeat(4)}b`, `\u1112${'\u1161'.repeat(3)}\\u{1161}b`],
])('%j', (text, expected) => {
  expect(visible(text)).toBe(expected);
});
