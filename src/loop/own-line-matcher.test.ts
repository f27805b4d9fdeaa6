import { describe, expect, it } from 'vitest';
import { searchInTime } from '../../test/rig/scan.ts';
import type { Detector } from './completion.ts';
import { presets } from './presets.ts';
import { startScan, type Piece } from './scan.ts';

const ownLine = {
  kind: 'promise-tag',
  value: 'DONE',
  placement: 'own-line',
  scope: 'assistant-text',
  phase: 'after',
  history: 'loop',
} as const;
const piece = (text: string, more: Partial<Piece> = {}): Piece => ({
  source: 'assistant',
  message: 'm1',
  text,
  ...more,
});
const readAll = (detector: Detector, pieces: readonly Piece[]) =>
  pieces.reduce((scanner, next) => scanner.read(next), startScan([detector], searchInTime));

describe('a near miss', () => {
  const missed = (...pieces: readonly Piece[]) => readAll(ownLine, pieces).nearMiss()?.where ?? null;

  it.each([
    ['- <promise>DONE</promise>', 'text'],
    ['Everything is finished: <promise>DONE</promise>.', 'text'],
    ['<promise>DONE</promise> once the tests pass', 'text'],
    ['**<promise>\nDONE\n</promise>**', 'text'],
    [`${'x'.repeat(9000)} <promise>DONE</promise>`, 'text'],
    ['`<promise>DONE</promise>`', 'code'],
    ['**`<promise>DONE</promise>`**', 'code'],
    ['```\n<promise>DONE</promise>\n```', 'code'],
    ['Example:\n\n    <promise>DONE</promise>', 'code'],
    ['<pre>\n<promise>DONE</promise>\n</pre>', 'code'],
    ['> <promise>DONE</promise>', 'quotation'],
    ['"<promise>DONE</promise>"', 'quotation'],
    ['It says: “\n<promise>DONE</promise>\n”', 'quotation'],
    ['> the task says\n<promise>DONE</promise>', 'quotation'],
  ] as const)('is a tag that does not count: %s', (text, where) => {
    expect(missed(piece(text))).toBe(where);
    expect(missed(...text.split('').map((char) => piece(char)))).toBe(where);
  });

  it.each(['nothing', 'DONE', '<promise>NOT DONE</promise>', '<response>DONE</response>', '<promise>DONE'])(
    'is not %s',
    (text) => {
      expect(missed(piece(text))).toBeNull();
    },
  );

  it('does not exist beside a claim', () => {
    expect(
      missed(piece('I must write `<promise>DONE</promise>`:\n<promise>DONE</promise>\nBye.')),
    ).toBeNull();
    expect(missed(piece('<promise>DONE</promise>\nThat was my <promise>DONE</promise>.'))).toBeNull();
    expect(
      missed(piece('- <promise>DONE</promise>'), piece('<promise>DONE</promise>', { message: 'm2' })),
    ).toBeNull();
    const { detectors } = presets.default.policy.completion;
    const both = '- <promise>DONE</promise>\n<response>DONE</response>';
    expect(startScan(detectors, searchInTime).read(piece(both)).nearMiss()).toBeNull();
  });

  it('is a tag in an earlier message, whether it would have counted or not', () => {
    for (const text of ['<promise>DONE</promise>', 'I wrote <promise>DONE</promise> here.'])
      expect(missed(piece(text), piece('Bye.', { message: 'm2' }))).toBe('earlier-message');
    const again = piece('`<promise>DONE</promise>`', { message: 'm2' });
    expect(missed(piece('- <promise>DONE</promise>'), again)).toBe('code');
  });

  it('names the tag, of any detector that wants it alone on its line', () => {
    const { detectors } = presets.default.policy.completion;
    const miss = (text: string) => startScan(detectors, searchInTime).read(piece(text)).nearMiss();
    expect(miss('- <response> done </response>')).toEqual({
      tag: '<response>DONE</response>',
      where: 'text',
    });
    const long = { ...ownLine, value: 'x'.repeat(9000) };
    const scanned = startScan([long], searchInTime).read(piece(`- <promise>${long.value}</promise>`));
    expect(scanned.nearMiss()?.tag.length).toBeLessThan(250);
    const other: Detector = { ...ownLine, placement: 'anywhere', value: 'READY' };
    expect(startScan([other], searchInTime).read(piece('- <promise>DONE</promise>')).nearMiss()).toBeNull();
  });
});
