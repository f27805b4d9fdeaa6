import { mkdtempSync, readFileSync, rmSync, truncateSync, appendFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { excerpt } from '../loop/excerpt.ts';
import { outputLine, outputLines, readOutput } from './check-output.ts';

/**
 * Outputs of real runs: Node.js 20 and 22, vitest 4, jest 29, pytest 9, go 1.19, cargo 1.95, npm 6, 8 and 11, yarn 1 and
 * pnpm 9, stdout before stderr as in the log of a check. Only the paths were replaced.
 */
const recordings = new URL('../../test/fixtures/check-outputs/', import.meta.url);
const recorded = (name: string): string => readFileSync(new URL(`${name}.txt`, recordings), 'utf8');

function log(content: string | Buffer): string {
  const folder = mkdtempSync(join(tmpdir(), 'ralph-check-output-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'log'), content);
  return join(folder, 'log');
}

const same = (text: string): string => text;
const FAILURES = { side: 'failures', chars: 5000, marker: '[truncated] ...\n' } as const;
const outputOf = (content: string | Buffer, chars = 5000): string =>
  readOutput(log(content), { ...FAILURES, chars }, same);
const linesOf = (content: string, lines = 20): readonly string[] =>
  outputLines(log(content), { lines, chars: 200 }, same);

const TESTS: readonly (readonly [string, readonly string[]])[] = [
  [
    'node-spec-20',
    [
      'sum.test.js:3:1 › adds two numbers: AssertionError [ERR_ASSERTION]: Expected values to be strictly equal: 2 !== 3',
      'sum.test.js:6:3 › has a total with tax: AssertionError [ERR_ASSERTION]: Expected values to be strictly deep-equal: + total: 10 - total: 12',
      'sum.test.js:8:3 › rejects a negative price: TypeError [Error]: price must not be negative: -1',
    ],
  ],
  [
    'node-spec-22',
    [
      'sum.test.js:3:1 › adds two numbers: AssertionError [ERR_ASSERTION]: Expected values to be strictly equal: 2 !== 3',
      'sum.test.js:6:3 › has a total with tax: AssertionError [ERR_ASSERTION]: Expected values to be strictly deep-equal: + total: 10 - total: 12',
      'sum.test.js:8:3 › rejects a negative price: TypeError: price must not be negative: -1',
    ],
  ],
  [
    'node-tap',
    [
      'adds two numbers: Expected values to be strictly equal: 2 !== 3',
      'has a total with tax: Expected values to be strictly deep-equal: + total: 10 - total: 12',
      'rejects a negative price: price must not be negative: -1',
    ],
  ],
  [
    'vitest',
    [
      "broken.test.ts [ broken.test.ts ]: Error: Cannot find module './missing.ts' imported from /home/dev/shop/broken.test.ts",
      'cart.test.ts > adds two numbers: AssertionError: expected 2 to be 3 // Object.is equality',
      "cart.test.ts > cart > has a total with tax: AssertionError: expected { total: 10, items: [ 'a' ] } to deeply equal { total: 12, items: [ 'a' ] }",
      'cart.test.ts > cart > rejects a negative price: TypeError: price must not be negative: -1',
      'cart.test.ts > cart > divides by 1: AssertionError: expected Infinity to be 1 // Object.is equality',
      'cart.test.ts > cart > divides by 2: AssertionError: expected Infinity to be 2 // Object.is equality',
    ],
  ],
  [
    'jest',
    [
      './cart.test.js › adds two numbers: expect(received).toBe(expected) // Object.is equality',
      './cart.test.js › cart › has a total with tax: expect(received).toEqual(expected) // deep equality',
      './cart.test.js › cart › rejects a negative price: TypeError: price must not be negative: -1',
      "./broken.test.js › Test suite failed to run: Cannot find module './missing' from 'broken.test.js'",
    ],
  ],
  [
    'pytest',
    [
      'ERROR at setup of test_saves: RuntimeError: no database',
      'test_adds_two_numbers: assert 2 == 3',
      "TestCart.test_has_a_total_with_tax: AssertionError: assert {'items': ['a'], 'total': 10} == {'items': ['a'], 'total': 12}",
      'TestCart.test_rejects_a_negative_price[-1]: TypeError: price must not be negative: -1',
      'TestCart.test_rejects_a_negative_price[-2]: TypeError: price must not be negative: -2',
    ],
  ],
  [
    'pytest-collection',
    ["ERROR collecting test_broken.py: ModuleNotFoundError: No module named 'missing_module'"],
  ],
  [
    'pytest-names',
    [
      'test_cart.py::test_adds_two_numbers: assert 2 == 3',
      'test_cart.py::TestCart::test_has_a_total_with_tax: AssertionError: as...',
      'test_cart.py::TestCart::test_rejects_a_negative_price[-1]: TypeError:...',
      'test_cart.py::TestCart::test_rejects_a_negative_price[-2]: TypeError:...',
      'test_cart.py::test_saves: RuntimeError: no database',
    ],
  ],
  [
    'go',
    [
      'TestAddsTwoNumbers: Add(1, 1) = 2, want 3',
      'TestCart/has_a_total_with_tax: total: got 10 want 12',
      'TestPrints',
      'TestPanics: runtime error: index out of range [3] with length 0 [recovered]',
      'example.com/shop/broken: broken/broken_test.go:6:2: undefined: undefinedThing',
    ],
  ],
  [
    'go-verbose',
    [
      'TestAddsTwoNumbers: Add(1, 1) = 2, want 3',
      'TestCart/has_a_total_with_tax: total: got 10 want 12',
      'TestPrints: a line on stdout',
      'TestPanics: runtime error: index out of range [3] with length 0 [recovered]',
    ],
  ],
  [
    'cargo',
    [
      'tests::adds_two_numbers: assertion `left == right` failed',
      'tests::rejects_a_negative_price: Error: "price must not be negative: -1"',
      'tests::cart::has_a_total: index out of bounds: the len is 0 but the index is 3',
    ],
  ],
  [
    'cargo-compile',
    [
      'error[E0308]: mismatched types: --> src/lib.rs:1:27',
      'error[E0425]: cannot find function `undefined_thing` in this scope: --> src/lib.rs:2:18',
    ],
  ],
];

describe('the output of a known test runner', () => {
  it.each(TESTS)('%s: shows the name and the error of every failing test', (name, lines) => {
    expect(linesOf(recorded(name))).toEqual(lines);
    expect(linesOf(recorded(name).replaceAll('\n', '\r\n'))).toEqual(lines);
    // Whatever is printed before, and by the package manager after it.
    const noisy = `${'a line of the build\n'.repeat(1000)}${recorded(name)}\nnpm notice New version!\n`;
    expect(linesOf(noisy)).toEqual(lines);
  });

  it.each(TESTS)('%s: gives the agent every name and the messages, within the budget', (name, lines) => {
    const text = outputOf(recorded(name));
    for (const line of lines) expect(text).toContain(line.split(': ', 1)[0]);
    expect(text).toMatch(/^\d+ failures? \(/);
    for (const noise of ['\u001B', 'not yet', 'node:internal']) expect(text).not.toContain(noise);
    expect(Array.from(text).length).toBeLessThanOrEqual(5000);
  });

  it('gives the agent the values that differ', () => {
    expect(outputOf(recorded('node-spec-22'))).toContain('+   total: 10\n-   total: 12\n');
    expect(outputOf(recorded('node-tap'))).toContain("location: '/home/dev/shop/sum.test.js:6:3'\n");
    expect(outputOf(recorded('vitest'))).toContain('- 3\n+ 2\n');
    expect(outputOf(recorded('jest'))).toContain('Expected: 3\nReceived: 2\n');
    expect(outputOf(recorded('pytest'))).toContain('E       assert 2 == 3\n');
    expect(outputOf(recorded('cargo'))).toContain('  left: 2\n right: 3\n');
  });

  it('shows what comes after the failing tests: another command may have failed too', () => {
    const lint = '\nsrc/a.ts:3:1 error: unused variable\n';
    for (const name of ['vitest', 'node-spec-20', 'cargo', 'jest', 'pytest', 'go'])
      expect(outputOf(`${recorded(name)}${lint}`)).toMatch(
        /\n\nThe output after the failures:\n([^]*\n)?src\/a\.ts:3:1 error: unused variable$/,
      );
    expect(outputOf(recorded('vitest'))).not.toContain('after the failures');
  });

  it('is not mistaken: a word of a reporter alone is no failing test', () => {
    const text = '--- FAIL: TestA (0.00s)\n---- x stdout ----\n  ● y\n____ z ____\nnot ok 1 - w\nthe end\n';
    expect(outputOf(text)).toBe(text.trimEnd());
    expect(linesOf('PASS a.test.js\n\nTests: 1 passed\nsrc/a.ts: error\n', 1)).toEqual(['src/a.ts: error']);
  });

  it('names all failing tests first, and says how many names and messages are left out', () => {
    const many = Array.from(
      { length: 300 },
      (_, index) => `--- FAIL: TestNumber${index} (0.00s)\n    a_test.go:${index}: ${'wrong '.repeat(100)}\n`,
    );
    const text = outputOf(`${many.join('')}FAIL\nFAIL\texample.com/a\t0.1s\n`);
    expect(text).toMatch(/^300 failures \(go test\):\n- TestNumber0\n- TestNumber1\n/);
    expect(text).toMatch(/\n- TestNumber(\d+)\n- \.\.\. and \d+ more\n\nTestNumber0\n/);
    expect(text).toMatch(/\n\[the messages of \d+ more failures are left out\]\n/);
    expect(text.length).toBeGreaterThan(4000);
    expect(text.length).toBeLessThanOrEqual(5000);
    expect(linesOf(many.join('') + 'FAIL\texample.com/a\t0.1s\n', 3).at(-1)).toBe(
      '... and 298 more failures',
    );
  });

  it('cuts a long message, and keeps the sentence that says what is wrong', () => {
    const steps = '    result = step(result)\n'.repeat(1000);
    const one = `= FAILURES =\n____ test_a ____\n${steps}E   ValueError: no such step\n\n= 1 failed in 1s =\n`;
    expect(outputOf(one, 1000)).toMatch(
      /^1 failure \(pytest\):\n\ntest_a\nValueError: no such step\n(.*\n)+\.\.\. \[truncated\]/,
    );
  });
});

describe('the output of another command', () => {
  it.each(['npm', 'npm-8', 'npm-6', 'yarn', 'pnpm'])('%s: ends before the noise at its end', (name) => {
    expect(outputOf(recorded(name))).toMatch(/(^|\n)wrong answer$/);
    expect(linesOf(recorded(name), 1)).toEqual(['wrong answer']);
    expect(outputLine(log(recorded(name)), FAILURES, same)).toBe('wrong answer');
  });

  it('keeps the errors of a package manager itself', () => {
    const text =
      'npm error code ERESOLVE\nnpm error Could not resolve dependency:\nnpm error peer react@"18" from a@1.0.0';
    const farewell =
      'npm error A complete log of this run can be found in: /home/dev/.npm/_logs/x-debug-0.log\n';
    expect(outputOf(`${text}\nnpm error\n${farewell}`)).toBe(text);
  });

  it('has no colours and no overwritten states of a progress bar', () => {
    const bar = 'load [=>  ] 10%\rload [==> ] 50%\rload [===>] 100%\r\n 45% ████▒▒▒▒\n';
    expect(outputOf(`\u001B[31mred\u001B[0m\u0007\r\nfirst\rsecond\n${bar}`)).toBe(
      'red\nfirst\nsecond\nload [===>] 100%',
    );
  });

  it('is shown as it is if everything in it is noise', () => {
    expect(outputOf('npm notice a\n\n')).toBe('npm notice a\n\n');
    expect(outputOf('')).toBe('');
    expect(readOutput('/nowhere/log', FAILURES, same)).toBe('');
  });

  it('has at least as many characters of the end as its last characters', () => {
    const text = `${'€'.repeat(2_000_000)}\nthe end`;
    const shown = excerpt(outputOf(text), { ...FAILURES, side: 'tail' });
    expect(shown).toBe(`[truncated] ...\n${text.slice(-5000)}`);
  });
});

describe('the lines for a terminal', () => {
  const end = (text: string, hide = same): readonly string[] =>
    outputLines(log(text), { lines: 3, chars: 20 }, hide);

  it('are the last ones that are not blank, each cut to the maximum length', () => {
    expect(end('one\ntwo\n\n  three\n\nfour\n')).toEqual(['two', '  three', 'four']);
    expect(end('x'.repeat(30))).toEqual([`${'x'.repeat(17)}...`]);
    expect(end('')).toEqual([]);
    expect(outputLines('/nowhere/log', { lines: 3, chars: 20 }, same)).toEqual([]);
  });

  it('have no control characters', () => {
    expect(
      end('\u001B[31mred\u001B[0m\u0007\n\u001B]0;title\u0007a\tb\r\nget 10%\rget 50%\rget 100%\r\n'),
    ).toEqual(['red', 'a  b', 'get 100%']);
  });

  it('mask secrets, even across a cut', () => {
    const hide = (text: string): string => text.replaceAll('my-secret-key', '<redacted>');
    expect(end('a my-secret-key\n0123456789 my-secret-key\n', hide)).toEqual([
      'a <redacted>',
      '0123456789 <redac...',
    ]);
  });
});

describe('a documented excerpt', () => {
  it('is the head or the tail of the output, whatever printed it', () => {
    const path = log(recorded('vitest'));
    const head = { side: 'head', chars: 5000, marker: '' } as const;
    expect(excerpt(readOutput(path, head, same), head)).toBe(recorded('vitest').slice(0, 5000));
    expect(outputLine(log('first\nlast\n'), head, same)).toBe('first');
  });
});

describe('a huge log', () => {
  it('is read at its beginning and at its end only', () => {
    const path = log(recorded('go'));
    truncateSync(path, 600 * 1024 * 1024);
    appendFileSync(path, `\n${recorded('pytest')}`);
    const before = process.memoryUsage().rss;
    const lines = outputLines(path, { lines: 20, chars: 200 }, same);
    expect(lines).toContain('TestAddsTwoNumbers: Add(1, 1) = 2, want 3');
    expect(lines).toContain('test_adds_two_numbers: assert 2 == 3');
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024);
  });
});

describe('secrets', () => {
  const hide = (text: string): string => text.replaceAll('my-secret-key', '<redacted>');

  it('are masked in names, messages and the end, wherever the text is cut', () => {
    const secret = ` ${'my-secret-key '.repeat(40)}`;
    const failing = `--- FAIL: Test${secret.trim().split(' ')[0]} (0.00s)\n    a_test.go:1:${secret}\nFAIL\ta\t1s\n`;
    const path = log(`${failing}${secret}\n`);
    for (let chars = 1; chars < 700; chars++)
      expect(readOutput(path, { ...FAILURES, chars }, hide)).not.toContain('secret');
  });

  it('are masked in the end of another output, even where the part that is read begins', () => {
    for (let length = 524_280; length < 524_300; length++) {
      const path = log(`${`${'x'.repeat(999)}\n`.repeat(1200)}my-secret-key${'.'.repeat(length)}`);
      expect(readOutput(path, FAILURES, hide)).not.toContain('key');
      expect(outputLines(path, { lines: 3, chars: 20 }, hide).join('')).not.toContain('key');
    }
  });
});

describe('any bytes', () => {
  it('are shown within the budget, and never make an excerpt fail', () => {
    const whole = TESTS.map(([name]) => Buffer.from(recorded(name)));
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
      fc
        .tuple(fc.constantFrom(...whole), fc.nat(8000), fc.nat(8000))
        .map(([bytes, from, to]) => bytes.subarray(Math.min(from, to), Math.max(from, to))),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 4 }), fc.integer({ min: 1, max: 6000 }), (pieces, chars) => {
        const path = log(Buffer.concat(pieces));
        const shown = excerpt(readOutput(path, { ...FAILURES, chars }, same), {
          side: 'tail',
          chars,
          marker: '',
        });
        expect(Array.from(shown).length).toBeLessThanOrEqual(chars);
        expect(outputLines(path, { lines: 5, chars: 80 }, same).every((line) => line.length <= 160)).toBe(
          true,
        );
        expect(outputLines(path, { lines: 5, chars: 80 }, same).length).toBeLessThanOrEqual(5);
        expect(outputLine(path, FAILURES, same)).not.toContain('\n');
      }),
      { numRuns: 300 },
    );
  });
});
