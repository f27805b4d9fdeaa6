import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { searchInTime } from '../../test/rig/scan.ts';
import type { Detector, TextSource } from './completion.ts';
import { MAX_MATCH_LENGTH } from './matcher.ts';
import { presets } from './presets.ts';
import { startScan, type Piece, type PieceSource, type Scanner } from './scan.ts';

const own: TextSource = { scope: 'assistant-text', phase: 'after', history: 'loop' };
const response = { kind: 'response-tag', value: 'DONE', placement: 'anywhere', ...own } as const;
const promise = { kind: 'promise-tag', value: 'DONE', placement: 'anywhere', ...own } as const;
const ownLine = { ...promise, placement: 'own-line' } as const;
const word = (within: 'word' | 'substring') => ({ kind: 'word', value: 'DONE', within, ...own }) as const;
const pattern = (source: string, scope: TextSource['scope'] = 'assistant-text') =>
  ({ kind: 'pattern', pattern: source, ...own, scope }) as const;

const piece = (text: string, more: Partial<Piece> = {}): Piece => ({
  source: 'assistant',
  message: 'm1',
  text,
  ...more,
});
const readAll = (detector: Detector, pieces: readonly Piece[]): Scanner =>
  pieces.reduce((scanner, next) => scanner.read(next), startScan([detector], searchInTime));
const claims = (detector: Detector, ...texts: readonly string[]): boolean =>
  readAll(
    detector,
    texts.map((text) => piece(text)),
  ).claim(true) !== null;

describe('a tag on its own line', () => {
  it.each([
    ['alone', '<promise>DONE</promise>'],
    ['after its explanation', 'All 42 tests pass and the linter is clean.\n\n<promise>DONE</promise>'],
    ['before a summary', '<promise>DONE</promise>\n\nSummary: the parser reads nested lists now.'],
    ['in another case, with blanks', '  <Promise> done </promise>  '],
    ['with Windows line ends', 'Finished.\r\n<promise>DONE</promise>\r\n'],
    ['over three lines', 'Finished.\n<promise>\nDONE\n</promise>'],
    ['over two lines', '<promise>DONE\n</promise>'],
    ['after a code block', '```sh\nnpm test\n```\n<promise>DONE</promise>'],
    ['after a longer fence', '````md\n```\n````\n<promise>DONE</promise>'],
    ['after a quoted one', 'I was told to write "<promise>DONE</promise>".\n<promise>DONE</promise>'],
    ['after a number with inches', 'The screen is 24"\n<promise>DONE</promise>'],
    ['after a line that starts with inline code', '```npm test``` passes now.\n\n<promise>DONE</promise>'],
    ['after a quotation in another language', 'Der Test sagt „alles grün“\n\n<promise>DONE</promise>'],
    ['after a quotation that has ended', 'It said: "\nall green\n"\n<promise>DONE</promise>'],
    ['after a tag that is not closed', '<promise>\n<promise>DONE</promise>'],
    ['indented inside of its own tag', '<promise>\n    DONE\n</promise>'],
    ['after a block quote and a blank line', '> done?\n\n<promise>DONE</promise>'],
    ['after a list', '- parser: done\n- docs: done\n\n<promise>DONE</promise>'],
    ['in bold', 'Finished.\n\n**<promise>DONE</promise>**'],
    ['in italics', '*<promise>DONE</promise>*'],
    ['in bold italics', '***<promise>DONE</promise>***'],
    ['with an underscore', '_<promise>DONE</promise>_'],
    ['with two underscores', '  __<promise> done </promise>__  '],
    ['with a full stop', '<promise>DONE</promise>.'],
    ['with an exclamation mark', '<promise>DONE</promise>!'],
    ['in bold with a full stop in it', '**<promise>DONE</promise>.**'],
    ['in bold with an exclamation mark behind it', '**<promise>DONE</promise>**!\r\n'],
  ])('claims %s', (_, text) => {
    expect(claims(ownLine, text)).toBe(true);
  });

  it.each([
    ['a plan', 'I will not say <promise>DONE</promise> yet.'],
    ['inline code', 'I will not say `<promise>DONE</promise>` yet, three tests still fail.'],
    ['inline code on its own line', 'Next time:\n`<promise>DONE</promise>`'],
    ['a repeated instruction', 'When everything passes I must output: <promise>DONE</promise>'],
    ['quotation marks', 'The prompt wants\n"<promise>DONE</promise>"\nand I am not there.'],
    ['a quotation over several lines', 'The prompt says: "\n<promise>DONE</promise>\n" and so I go on.'],
    ['typographic quotation marks', 'It says “\n<promise>DONE</promise>\n”'],
    ['a block quote', '> <promise>DONE</promise>'],
    ['a code block', 'The task ends with:\n```\n<promise>DONE</promise>\n```'],
    ['a code block with tildes', '~~~xml\n<promise>DONE</promise>\n~~~'],
    ['a code block with a language', '```xml\n<promise>DONE</promise>\n```'],
    ['a short fence inside a long one', '````\n```\n<promise>DONE</promise>\n````'],
    ['a fence that never closes', '```\n<promise>DONE</promise>'],
    ['indented code', 'Example:\n\n    <promise>DONE</promise>'],
    ['code indented by a tab', 'Example:\n\n\t<promise>DONE</promise>'],
    ['an element for code', '<pre>\n<promise>DONE</promise>\n</pre>'],
    ['an inline element for code', 'Example: <code>\n<promise>DONE</promise>\n</code>'],
    ['a comment', '<!--\n<promise>DONE</promise>\n-->'],
    ['the last line of a block quote', '> the task says\n<promise>DONE</promise>'],
    ['a fence inside of a list', '- Example:\n\n      ```\n<promise>DONE</promise>\n      ```'],
    ['a list item', '- [ ] <promise>DONE</promise>'],
    ['a condition behind it', '<promise>DONE</promise> once the tests pass'],
    ['another promise', '<promise>NOT DONE</promise>'],
    ['another tag', '<response>DONE</response>'],
    ['half a tag', '<promise>DONE'],
    ['a tag with other words in it', '<promise>\nnearly\nDONE\n</promise>'],
    ['the bare word', 'DONE'],
    ['emphasis that is not closed', '**<promise>DONE</promise>'],
    ['emphasis that is not opened', '<promise>DONE</promise>**'],
    ['unbalanced emphasis', '**<promise>DONE</promise>*'],
    ['mixed emphasis', '**<promise>DONE</promise>__'],
    ['emphasis with blanks', '** <promise>DONE</promise> **'],
    ['a list item with a star', '* <promise>DONE</promise>'],
    ['two full stops', '<promise>DONE</promise>..'],
    ['a mark in and behind the emphasis', '**<promise>DONE</promise>.**!'],
    ['a question', '<promise>DONE</promise>?'],
    ['a block quote in bold', '> **<promise>DONE</promise>**'],
    ['inline code in bold', '**`<promise>DONE</promise>`**'],
    ['a heading', '# <promise>DONE</promise>'],
    ['the end of a sentence', 'Everything is finished: <promise>DONE</promise>.'],
  ])('does not claim in %s', (_, text) => {
    expect(claims(ownLine, text)).toBe(false);
  });

  it('counts only in the last message', () => {
    const then = (last: string) =>
      readAll(ownLine, [piece('<promise>DONE</promise>'), piece(last, { message: 'm2' })]).claim(true);
    expect(then('Wait, one test fails.')).toBeNull();
    expect(then('Yes.\n<promise>DONE</promise>')).toEqual({
      by: 'promise-tag',
      text: '<promise>DONE</promise>',
    });
  });

  it('is found wherever the deltas of a message cut it', () => {
    const text = 'Done.\n<promise>DONE</promise>\nBye.';
    for (let cut = 0; cut <= text.length; cut++)
      expect(claims(ownLine, text.slice(0, cut), text.slice(cut))).toBe(true);
    expect(claims(ownLine, ...text.split(''))).toBe(true);
  });
});

describe('the scope', () => {
  const tagged = '<promise>DONE</promise>\nDONE <response>DONE</response>';
  const everywhere: readonly PieceSource[] = [
    'assistant',
    'answer',
    'raw',
    'screen',
    'prompt',
    'tool',
    'reasoning',
  ];
  const readBy = (detector: Detector) =>
    everywhere.filter((source) => readAll(detector, [piece(tagged, { source })]).claim(true) !== null);

  it.each([response, promise, ownLine, word('word'), word('substring'), pattern('DONE')])(
    'of the agent’s words excludes the echoed prompt, tool results and reasoning ($kind)',
    (detector) => {
      expect(readBy(detector)).toEqual(['assistant', 'answer']);
      expect(readBy({ ...detector, scope: 'final-answer' })).toEqual(['assistant', 'answer']);
      expect(readBy({ ...detector, scope: 'raw-output' })).toEqual(['raw']);
      expect(readBy({ ...detector, scope: 'screen' })).toEqual(['screen']);
    },
  );

  it('joins messages only if it is all assistant text', () => {
    const halves = [piece('<promise>DO'), piece('NE</promise>', { message: 'm2' })];
    expect(readAll(promise, halves).claim(true)).not.toBeNull();
    expect(readAll({ ...promise, scope: 'final-answer' }, halves).claim(true)).toBeNull();
  });

  it('uses the answer that the stream reports as the final one', () => {
    const final = { ...word('word'), scope: 'final-answer' } as const;
    expect(
      readAll(final, [piece('DONE'), piece('not yet', { source: 'answer', message: 'a' })]).claim(true),
    ).toBeNull();
    expect(
      readAll(final, [piece('DONE'), piece('', { source: 'answer', message: 'a' })]).claim(true),
    ).not.toBeNull();
  });

  it('reads the current screen only', () => {
    const screens = [
      piece('DONE', { source: 'screen', message: '1' }),
      piece('working', { source: 'screen', message: '2' }),
    ];
    expect(readAll(pattern('DONE', 'screen'), screens).claim(true)).toBeNull();
  });
});

describe('a bare word', () => {
  it('must stand alone unless the policy accepts substrings', () => {
    for (const text of ['UNDONE', 'DONEXT', 'DONE_1', 'éDONE', '𝒜DONE']) {
      expect(claims(word('word'), text)).toBe(false);
      expect(claims(word('substring'), text)).toBe(true);
    }
    for (const text of ['DONE', 'It is DONE.', '(DONE)', '**DONE**', 'UNDONE, then DONE'])
      expect(claims(word('word'), text)).toBe(true);
    expect(claims(word('word'), 'done')).toBe(false);
  });

  it('does not stand alone before a letter whose surrogate pair arrives in two pieces', () => {
    expect(claims(word('word'), 'DONE\uD835', '\uDC9C')).toBe(false);
    expect(claims(word('word'), 'DONE\uD83D', '\uDE00')).toBe(true);
    expect(claims(word('word'), 'DONE\uD835')).toBe(true);
  });
});

describe('while the run continues', () => {
  it('reports only a final match of a continuous detector', () => {
    const continuous = { ...word('word'), phase: 'continuous' } as const;
    expect(readAll(word('word'), [piece('DONE ')]).claim(false)).toBeNull();
    expect(readAll(continuous, [piece('DONE')]).claim(false)).toBeNull();
    expect(readAll(continuous, [piece('DONE'), piece(' ')]).claim(false)).not.toBeNull();
    const line = { ...pattern('^all done$'), phase: 'continuous' } as const;
    expect(readAll(line, [piece('all done')]).claim(false)).toBeNull();
    expect(readAll(line, [piece('all done')]).claim(true)).not.toBeNull();
  });
});

describe('cuts between pieces', () => {
  // Texts made of significant fragments, so that near misses are common.
  const text = fc
    .array(
      fc.constantFrom(
        '<promise>',
        '</promise>',
        '<response>',
        '</response>',
        '<PROMISE>',
        'DONE',
        'done',
        'UN',
        ' ',
        '\n',
        '<',
        '`',
        '```',
        '>',
        'x',
        '\r\n',
        '😀',
        '𝒜',
        '_',
        '*',
        '**',
        '.',
        '"',
      ),
      { maxLength: 24 },
    )
    .map((parts) => parts.join(''));
  const cut = (whole: string, at: readonly number[]): string[] => {
    const places = [
      ...new Set(at.map((place) => (whole.length === 0 ? 0 : place % (whole.length + 1)))),
    ].toSorted((a, b) => a - b);
    return [0, ...places].map((start, index) => whole.slice(start, places[index] ?? whole.length));
  };
  const cuts = fc.array(fc.nat(), { maxLength: 6 });

  it.each([
    response,
    promise,
    ownLine,
    word('word'),
    word('substring'),
    pattern('(?m)^DONE$'),
    pattern(String.raw`\bDONE\Z`),
  ])('make no difference ($kind, $placement$within$pattern)', (detector) => {
    fc.assert(
      fc.property(text, cuts, (whole, at) => {
        expect(claims(detector, ...cut(whole, at))).toBe(claims(detector, whole));
        const missed = (...texts: readonly string[]) =>
          readAll(
            detector,
            texts.map((part) => piece(part)),
          ).nearMiss();
        expect(missed(...cut(whole, at))).toEqual(missed(whole));
      }),
      { numRuns: 2000 },
    );
  });

  it('do not change what the documents’ own expressions match', () => {
    const firstResponse = (whole: string) =>
      /<response>(.*?)<\/response>/i.exec(whole)?.[1]?.trim().toLowerCase() === 'done';
    fc.assert(
      fc.property(text, cuts, (whole, at) => {
        const parts = cut(whole.replaceAll('\r\n', '\n'), at);
        expect(claims(response, ...parts)).toBe(firstResponse(parts.join('')));
        expect(claims(promise, ...parts)).toBe(/<promise>\s*DONE\s*<\/promise>/is.test(parts.join('')));
        expect(claims(word('word'), ...parts)).toBe(
          /(?<![\p{L}\p{N}_])DONE(?![\p{L}\p{N}_])/u.test(parts.join('')),
        );
      }),
      { numRuns: 5000 },
    );
  });
});

describe('memory', () => {
  const noise = '<promise> <response> D'.repeat(1500);

  it.each([response, promise, ownLine, word('word'), pattern('(?s)nothing.*like it')])(
    'is bounded ($kind)',
    (detector) => {
      let scanner = startScan([detector], searchInTime);
      for (let chunk = 0; chunk < 300; chunk++) {
        scanner = scanner.read(piece(noise));
        expect(scanner.held).toBeLessThanOrEqual(MAX_MATCH_LENGTH + noise.length);
      }
      expect(scanner.claim(true)).toBeNull();
    },
  );

  it('does not grow with whitespace inside of a tag, nor does the time per piece', () => {
    let scanner = startScan([promise], searchInTime).read(piece('<promise>'));
    for (let delta = 0; delta < 60_000; delta++)
      scanner = scanner.read(piece(delta === 30_000 ? 'DONE' : ' '));
    expect(scanner.held).toBeLessThan(20);
    expect(scanner.read(piece('</promise>')).claim(true)).not.toBeNull();
  });

  it('still finds a claim after a flood', () => {
    const flood = 'x'.repeat(3 * MAX_MATCH_LENGTH);
    for (const detector of [response, promise, word('word')]) {
      expect(
        claims(
          detector,
          flood,
          `\n${flood}`,
          ' <promise>DONE</promise> <response>DONE</response> DONE ',
          flood,
        ),
      ).toBe(true);
    }
    expect(claims(ownLine, flood, '\n<promise>DONE</promise>\n', flood)).toBe(true);
    expect(claims(pattern('tests? DONE'), flood, ' test DONE ', flood)).toBe(true);
    expect(claims(pattern('^test DONE'), flood, 'test DONE ', flood)).toBe(false);
    expect(claims(pattern('test DONE$'), flood, 'test DONE\n', flood)).toBe(false);
    expect(claims(pattern('test DONE$'), flood, 'test DONE\n')).toBe(true);
  });
});

describe('the default preset', () => {
  it('reads promise and response tags, and does not take a mention for a claim', () => {
    const { detectors } = presets.default.policy.completion;
    const says = (text: string) =>
      startScan(detectors, searchInTime).read(piece(text)).claim(true)?.by ?? null;
    expect(says('<promise>DONE</promise>')).toBe('promise-tag');
    expect(says('<response>DONE</response>')).toBe('response-tag');
    expect(says('Use <promise>DONE</promise> to finish. DONE.')).toBeNull();
  });
});
