import { describe, expect, it } from 'vitest';
import { drawn, lastLines } from './last-lines.ts';

const ESC = '\u001B';

describe('lastLines', () => {
  it('S4.17 are the last 20 lines, without the blank rest of the screen', () => {
    const lines = Array.from({ length: 30 }, (_, index) => `line ${index}`);
    expect(lastLines(`${lines.join('\n')}\n\n\n`)).toBe(lines.slice(10).join('\n'));
  });
});

describe('drawn', () => {
  it('S4.18 leaves out colours, titles and other escapes', () => {
    expect(drawn(`${ESC}[1;32mgreen${ESC}[0m ${ESC}]0;a title\u0007text${ESC}(B\u0007!`)).toBe('green text!');
  });

  it.each([
    ['a carriage return', 'working |\rworking /\rworking |', 'working |'],
    ['an erased line', `50 % of all\r${ESC}[K100 %`, '100 %'],
    ['lines that are painted again', `one\ntwo\n${ESC}[2A${ESC}[Jone\ntwo\n`, 'one\ntwo'],
    ['a cleared screen', `old\nold\n${ESC}[2J${ESC}[Hone\ntwo`, 'one\ntwo'],
    ['another screen', `shell\n${ESC}[?1049h${ESC}[Hone`, 'one'],
    ['a backspace', 'ab\b\bcd', 'cd'],
  ])('shows one copy after %s', (_, output, expected) => {
    expect(drawn(output).trimEnd()).toBe(expected);
  });

  it('S4.19 does not change while the same text is repainted, and changes with a clock', () => {
    const frame = (time: string): string => `${ESC}[H${ESC}[2Jagent\r\n${time}\r\n> `;
    const once = lastLines(drawn(frame('12:00:00')));
    expect(lastLines(drawn(frame('12:00:00').repeat(50)))).toBe(once);
    expect(lastLines(drawn(frame('12:00:00') + frame('12:00:01')))).not.toBe(once);
  });

  it('keeps the end of a long output', () => {
    const output = Array.from({ length: 5000 }, (_, index) => `line ${index}\n`).join('');
    expect(lastLines(drawn(output)).split('\n').at(-1)).toBe('line 4999');
    expect(drawn(`${ESC}[999999999B${ESC}[999999999C${ESC}[999999999;999999999Hx`).length).toBeLessThan(
      10_000,
    );
  });
});
