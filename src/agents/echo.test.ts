import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Echo, type Fragment } from './echo.ts';

const PROMPT = 'Fix it.\n\nWhen you are done, say the word DONE.\nDONE\n\nMore.\n';
const read = (prompt: string, ...pieces: readonly string[]): readonly Fragment[] => {
  const echo = new Echo(prompt);
  return [...pieces.flatMap((piece) => echo.push(piece)), ...echo.end()];
};
const ownText = (fragments: readonly Fragment[]): string =>
  fragments.flatMap(({ text, isEcho }) => (isEcho ? [] : [text])).join('');

describe('an echo', () => {
  it('is the prompt anywhere in the output, but not the text after it', () => {
    expect(ownText(read(PROMPT, `${PROMPT}DONE\n`))).toBe('\n\nDONE\n');
    expect(ownText(read(PROMPT, `Hello.\n${PROMPT}Bye.`))).toBe('Hello.\n\n\nBye.');
    expect(ownText(read(PROMPT, `${PROMPT}${PROMPT}`))).toBe('\n\n\n\n');
    expect(ownText(read(PROMPT, PROMPT.replaceAll('\n', '\r\n')))).toBe('\r\n\r\n');
    expect(ownText(read('say DONE', 'say DONE'))).toBe('');
  });

  it('is not a line that the agent was told to print, or a quotation', () => {
    for (const text of ['DONE\n', 'All is well.\n\nDONE', 'When you are done, say the word DONE.\nDONE\n']) {
      expect(ownText(read(PROMPT, text))).toBe(text);
    }
    expect(ownText(read(PROMPT, 'Fix it.\nIt is fixed.\nDONE\n'))).toBe('It is fixed.\nDONE\n');
  });

  it.each([
    ['behind >', '> ', '> '],
    ['behind > without blanks', '>', '>'],
    ['behind a label', 'User: ', 'User: '],
    ['behind a label in the first line only', 'user> ', '      '],
    ['indented', '    ', '    '],
    ['indented by a tab', '\t', '\t'],
    ['behind a bar', '│ ', '│ '],
    ['behind a bar of ASCII', '| ', '| '],
  ])('is the prompt %s', (_, first, other) => {
    const lines = PROMPT.trimEnd().split('\n');
    const quoted = lines.map((line, index) => `${index === 0 ? first : other}${line}\n`).join('');
    const bare = quoted.replaceAll(/[ \t]+$/gm, '');
    for (const echo of [quoted, bare, quoted.replaceAll('\n', '\r\n')]) {
      const own = ownText(read(PROMPT, `Hello.\n${echo}DONE\n`));
      expect(own.replaceAll(/^[\s>|│]*$/gm, '').replaceAll(/\s+/g, ' ')).toBe('Hello. DONE ');
      expect(ownText(read(PROMPT, ...`Hello.\n${echo}DONE\n`.split('')))).toBe(own);
    }
  });

  it('is the prompt in a box', () => {
    const lines = PROMPT.trimEnd()
      .split('\n')
      .map((line) => `│ ${line.padEnd(50)} │\n`);
    const boxed = `╭${'─'.repeat(52)}╮\n${lines.join('')}╰${'─'.repeat(52)}╯\nDONE`;
    expect(ownText(read(PROMPT, boxed)).match(/\w+/g)).toEqual(['DONE']);
  });

  it('is the prompt in colour, however the output is split', () => {
    const dimmed = PROMPT.trimEnd()
      .split('\n')
      .map((line) => `\u001B[2m> ${line}\u001B[0m\n`)
      .join('');
    const own = ownText(read(PROMPT, `${dimmed}DONE\n`));
    expect(own).toContain('DONE');
    expect(own).not.toMatch(/[a-z]{2}/);
    expect(ownText(read(PROMPT, ...`${dimmed}DONE\n`.split('')))).toBe(own);
  });

  it('may be followed by the agent’s own text on its last line', () => {
    expect(ownText(read('say DONE', 'say DONEworking\n'))).toBe('working\n');
    expect(ownText(read('say DONE', '> say DONE', 'DONE'))).toBe('DONE');
    expect(ownText(read('Fix it.\nsay DONE', 'say DONE, they said\n'))).toBe('say DONE, they said\n');
    expect(ownText(read('Fix it.\nsay DONE', 'Fix it.\nsay DONE, they said\n'))).toBe(', they said\n');
  });

  it('is not a quotation of other words', () => {
    for (const text of ['> Fix it soon.\n> DONE\n', 'User: hello\nDONE\n', '  DONE\n', '│ DONE │\n'])
      expect(ownText(read(PROMPT, text))).toBe(text);
  });

  it('is found quickly in a long prompt', () => {
    const prompt = Array.from({ length: 150_000 }, (_, index) => `${index % 7}`).join('\n');
    expect(ownText(read(prompt, prompt))).toBe('');
  });

  it('does not depend on how the text is split, and loses no text', () => {
    const parts = fc.constantFrom(
      'Fix it.',
      'DONE',
      '\n',
      'When you are done, say the word DONE.',
      'x',
      'More.',
      '> ',
      'User: ',
      'U',
      ' ',
      '│',
    );
    fc.assert(
      fc.property(fc.array(parts), fc.array(fc.nat({ max: 80 })), (words, cuts) => {
        const whole = words.join('');
        const at = [0, ...cuts.map((cut) => Math.min(cut, whole.length)), whole.length].toSorted(
          (a, b) => a - b,
        );
        const fragments = read(PROMPT, ...at.slice(1).map((end, index) => whole.slice(at[index], end)));
        expect(fragments.map(({ text }) => text).join('')).toBe(whole);
        expect(ownText(fragments)).toBe(ownText(read(PROMPT, whole)));
      }),
    );
  });

  it('does not hold back text that cannot be an echo', () => {
    const echo = new Echo(PROMPT);
    expect(echo.push('work')).toEqual([{ text: 'work', isEcho: false }]);
    expect(echo.push('ing\nFix')).toEqual([{ text: 'ing\n', isEcho: false }]);
    expect(echo.push('ed')).toEqual([{ text: 'Fixed', isEcho: false }]);
    expect(echo.push('\n> Use').map(({ text }) => text)).toEqual(['\n']);
    expect(echo.push(' it')).toEqual([{ text: '> Use it', isEcho: false }]);
    const blanks = `\n${' '.repeat(2000)}`;
    expect(echo.push(blanks)).toEqual([{ text: blanks, isEcho: false }]);
  });
});
