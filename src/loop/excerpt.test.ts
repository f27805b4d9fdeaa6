import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyText } from '../../test/rig/any-text.ts';
import { excerpt } from './excerpt.ts';

const head = (chars: number | null) => ({ side: 'head', chars, marker: '... [truncated]' }) as const;
const tail = (chars: number | null) => ({ side: 'tail', chars, marker: '[truncated] ...' }) as const;

describe('excerpt', () => {
  it('marks a cut, and only a cut', () => {
    expect(excerpt('12345', head(5))).toBe('12345');
    expect(excerpt('123456', head(5))).toBe('12345... [truncated]');
    expect(excerpt('12345', tail(5))).toBe('12345');
    expect(excerpt('123456', tail(5))).toBe('[truncated] ...23456');
    expect(excerpt('123456', head(null))).toBe('123456');
  });

  it('counts code points and never splits one', () => {
    expect(excerpt('😀😀😀', head(3))).toBe('😀😀😀');
    expect(excerpt('😀😀😀', head(2))).toBe('😀😀... [truncated]');
    expect(excerpt('😀😀😀', tail(1))).toBe('[truncated] ...😀');
    expect(excerpt('\uD83Dx\uDE00', tail(2))).toBe('[truncated] ...x\uDE00');
  });

  it('keeps exactly the code points that the string iterator gives', () => {
    fc.assert(
      fc.property(anyText({ maxLength: 30 }), fc.nat({ max: 31 }), (text, chars) => {
        const points = Array.from(text);
        const cut = points.length > chars;
        expect(excerpt(text, { side: 'head', chars, marker: '|' })).toBe(
          points.slice(0, chars).join('') + (cut ? '|' : ''),
        );
        const last = points.slice(Math.max(0, points.length - chars)).join('');
        expect(excerpt(text, { side: 'tail', chars, marker: '|' })).toBe((cut ? '|' : '') + last);
      }),
    );
  });
});
