import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Echo, type Said } from './echo.ts';

const PROMPT = 'Fix it.\n\nWhen you are done, say the word DONE.\nDONE\n\nMore.\n';
const hear = (prompt: string, ...pieces: readonly string[]): readonly Said[] => {
  const echo = new Echo(prompt);
  return [...pieces.flatMap((piece) => echo.push(piece)), ...echo.end()];
};
const ownWords = (said: readonly Said[]): string =>
  said.flatMap(({ text, isEcho }) => (isEcho ? [] : [text])).join('');

describe('an echo', () => {
  it('is the prompt, wherever it begins in the output, and nothing behind it', () => {
    expect(ownWords(hear(PROMPT, `${PROMPT}DONE\n`))).toBe('\n\nDONE\n');
    expect(ownWords(hear(PROMPT, `Hello.\n${PROMPT}Bye.`))).toBe('Hello.\n\n\nBye.');
    expect(ownWords(hear(PROMPT, `${PROMPT}${PROMPT}`))).toBe('\n\n\n\n');
    expect(ownWords(hear(PROMPT, PROMPT.replaceAll('\n', '\r\n')))).toBe('\r\n\r\n');
    expect(ownWords(hear('say DONE', 'say DONE'))).toBe('');
  });

  it('is not what the agent was told to say, nor a quotation', () => {
    for (const said of ['DONE\n', 'All is well.\n\nDONE', 'When you are done, say the word DONE.\nDONE\n']) {
      expect(ownWords(hear(PROMPT, said))).toBe(said);
    }
    expect(ownWords(hear(PROMPT, 'Fix it.\nIt is fixed.\nDONE\n'))).toBe('It is fixed.\nDONE\n');
  });

  it('costs nothing that grows with the prompt', () => {
    const prompt = Array.from({ length: 150_000 }, (_, index) => `${index % 7}`).join('\n');
    expect(ownWords(hear(prompt, prompt))).toBe('');
  });

  it('is the same however the text is cut, and nothing of the text is lost', () => {
    const parts = fc.constantFrom(
      'Fix it.',
      'DONE',
      '\n',
      'When you are done, say the word DONE.',
      'x',
      'More.',
    );
    fc.assert(
      fc.property(fc.array(parts), fc.array(fc.nat({ max: 80 })), (words, cuts) => {
        const whole = words.join('');
        const at = [0, ...cuts.map((cut) => Math.min(cut, whole.length)), whole.length].toSorted(
          (a, b) => a - b,
        );
        const said = hear(PROMPT, ...at.slice(1).map((end, index) => whole.slice(at[index], end)));
        expect(said.map(({ text }) => text).join('')).toBe(whole);
        expect(ownWords(said)).toBe(ownWords(hear(PROMPT, whole)));
      }),
    );
  });

  it('holds nothing back that cannot be one', () => {
    const echo = new Echo(PROMPT);
    expect(echo.push('work')).toEqual([{ text: 'work', isEcho: false }]);
    expect(echo.push('ing\nFix')).toEqual([{ text: 'ing\n', isEcho: false }]);
    expect(echo.push('ed')).toEqual([{ text: 'Fixed', isEcho: false }]);
  });
});
