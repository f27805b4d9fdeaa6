import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyText } from '../../test/rig/any-text.ts';
import { FailureScan, withoutNoiseAtEnd, type Failures } from './failures.ts';
import { failureLines, failuresText, firstFailure } from './failures-text.ts';
import { REPORTERS } from './test-reporters.ts';

function failuresIn(text: string, hide: (text: string) => string = String): Failures | null {
  const scan = new FailureScan();
  for (const line of text.split('\n')) scan.take(line);
  return scan.end(hide);
}

const namesIn = (text: string): readonly string[] => failuresIn(text)?.failures.map(({ name }) => name) ?? [];

const GO = 'FAIL\texample.com/a\t0.1s';

describe('the failures in an output', () => {
  it('are those of the reporter that signed it', () => {
    expect(failuresIn('--- FAIL: TestA (0.00s)\n    a_test.go:1: wrong')).toBeNull();
    expect(failuresIn(`--- FAIL: TestA (0.00s)\n    a_test.go:1: wrong\n${GO}`)).toEqual({
      reporters: ['go test'],
      failures: [{ name: 'TestA', message: 'a_test.go:1: wrong', says: 'wrong' }],
      after: GO,
    });
  });

  it('of several reporters are all found', () => {
    const tap = 'TAP version 13\nnot ok 1 - adds\n  ---\n  error: wrong\n  ...\n1..1';
    const found = failuresIn(`${tap}\n--- FAIL: TestA (0.00s)\n${GO}`);
    expect(found?.reporters).toEqual(['TAP', 'go test']);
    expect(found?.failures.map(({ name }) => name)).toEqual(['adds', 'TestA']);
  });

  it('do not include tests that are expected to fail', () => {
    const tap = 'TAP version 13\nnot ok 1 - later # TODO\nnot ok 2 - never # SKIP\nnot ok 3 - now\n1..3';
    expect(namesIn(tap)).toEqual(['now']);
    expect(namesIn('✖ later (1.5ms) # TODO\n✖ now (2ms)\n')).toEqual(['now']);
  });

  it('are those of the list at the end, if the reporter repeats them there', () => {
    const inline = 'FAIL a.test.js\n  ● adds\n\n    wrong\n';
    expect(namesIn(`${inline}Summary of all failing tests\n${inline}`)).toEqual(['a.test.js › adds']);
    expect(namesIn('✖ suite (3ms)\n✖ failing tests:\n\ntest at a.js:1:1\n✖ adds (2ms)\n  wrong')).toEqual([
      'a.js:1:1 › adds',
    ]);
  });

  it('have the output of their own test only, where tests are announced before they run', () => {
    const log = (test: string, how: string): string =>
      `=== RUN   ${test}\n    a_test.go:1: of ${test} that ${how}s\n--- ${how}: ${test} (0.00s)\n`;
    const found = failuresIn(`${log('TestA', 'PASS')}${log('TestA', 'FAIL')}${log('TestB', 'SKIP')}${GO}`);
    expect(found?.failures.map(({ says }) => says)).toEqual(['of TestA that FAILs']);
  });

  it('say what follows a sentence that ends with a colon', () => {
    const tap = (error: string): string =>
      `TAP version 13\nnot ok 1 - adds\n  ---\n  error: ${error}\n  code: 'ERR_ASSERTION'\n  ...\n1..1`;
    const linesIn = (text: string): readonly string[] => {
      const found = failuresIn(text);
      return found === null ? [] : failureLines(found, 5);
    };
    expect(linesIn(tap('|-\n    Expected values to be strictly equal:\n    \n    2 !== 3\n    '))).toEqual([
      'adds: Expected values to be strictly equal: 2 !== 3',
    ]);
    const diff = '+ actual - expected\n    \n      {\n    +   a: 1,\n    -   a: 2,\n        b: 3\n      }';
    expect(linesIn(tap(`|-\n    Expected values to be strictly deep-equal:\n    ${diff}`))).toEqual([
      'adds: Expected values to be strictly deep-equal: + a: 1, - a: 2,',
    ]);
    expect(linesIn(tap(`'wrong:'`))).toEqual(['adds: wrong:']);
    expect(linesIn(tap(`"'a' == 'b'"`))).toEqual([`adds: 'a' == 'b'`]);
    const spec = 'AssertionError: Expected values to be strictly equal:\n\n  2 !== 3\n\n      at a.js:1:1';
    expect(linesIn(`✖ failing tests:\n\n✖ adds (2ms)\n  ${spec}`)).toEqual([
      'adds: AssertionError: Expected values to be strictly equal: 2 !== 3',
    ]);
  });

  it('say the last line of a Go test, which logs before it fails', () => {
    const test = '--- FAIL: TestA (0.00s)\n    a_test.go:1: connecting\n    a_test.go:2: got 1, want 2\n';
    expect(failuresIn(`${test}${GO}`)?.failures[0]?.says).toBe('got 1, want 2');
  });

  it('are followed by the summary, without the tests that passed', () => {
    const passed = '# Subtest: b\nok 2 - b\n  ---\n  duration_ms: 1.5\n  ...\n';
    const summary = '# tests 2\n# pass 1\n# fail 1';
    const tap = `TAP version 13\nnot ok 1 - a\n  ---\n  error: wrong\n  ...\n${passed}1..2\n${summary}\n`;
    expect(failuresIn(`${tap}# duration_ms 12.5\n`)?.after).toBe(summary);
    const go = `--- FAIL: TestA (0.00s)\n${GO}\nok  \texample.com/b\t0.1s\nmake: *** [test] Error 1`;
    expect(failuresIn(go)?.after).toBe(`${GO}\nmake: *** [test] Error 1`);
  });

  it('end where a part of the output is left out', () => {
    const scan = new FailureScan();
    for (const line of ['= FAILURES =', '____ test_a ____', 'E   wrong']) scan.take(line);
    scan.skip();
    for (const line of ['something else', 'the end']) scan.take(line);
    expect(scan.end(String)).toMatchObject({
      failures: [{ name: 'test_a', message: 'E   wrong' }],
      after: 'something else\nthe end',
    });
  });

  it('keep the end of a long output in bounded memory', () => {
    const found = failuresIn(`--- FAIL: TestA (0.00s)\n${GO}\n${'x\n'.repeat(200_000)}the end`);
    expect(found?.after).toMatch(/^x\n.*the end$/s);
    expect(found?.after.length).toBeLessThan(70_000);
  });
});

describe('the text about failures', () => {
  it('shares its characters between the messages', () => {
    const failures = ['a', 'b', 'c'].map((name) => ({ name, message: name.repeat(400), says: name }));
    const text = failuresText({ reporters: ['vitest'], failures, after: '' }, 1000);
    expect(text).toMatch(
      /^3 failures \(vitest\):\n- a\n- b\n- c\n\na\na{250,}\n\.\.\. \[truncated\]\n\nb\nb{250,}/,
    );
    expect(text).toMatch(/\n\nc\nc{250,}\n\.\.\. \[truncated\]$/);
    expect(text.length).toBeLessThanOrEqual(1000);
    expect(text.length).toBeGreaterThan(950);
  });

  it('gives a long message what short ones leave', () => {
    const failures = [
      { name: 'a', message: 'a'.repeat(900), says: 'a' },
      { name: 'b', message: 'short', says: 'short' },
    ];
    expect(failuresText({ reporters: ['jest'], failures, after: '' }, 1000)).toContain('a'.repeat(900));
  });

  it('has everything without a limit', () => {
    const failures = [{ name: 'a', message: 'a'.repeat(90_000), says: 'a' }];
    expect(failuresText({ reporters: ['jest'], failures, after: 'the end' }, null)).toBe(
      `1 failure (jest):\n\na\n${'a'.repeat(90_000)}\n\nThe output after the failures:\nthe end`,
    );
  });

  it('never exceeds its characters, and counts every failure', () => {
    const failure = fc.record({ name: fc.string(), message: anyText({ maxLength: 900 }) });
    fc.assert(
      fc.property(
        fc.array(failure, { minLength: 1, maxLength: 60 }),
        fc.string({ maxLength: 400 }),
        fc.integer({ min: 1, max: 3000 }),
        (failures, after, chars) => {
          const found = {
            reporters: ['jest'],
            failures: failures.map((one) => ({ ...one, says: one.message.split('\n', 1)[0] ?? '' })),
            after,
          };
          expect(Array.from(failuresText(found, chars)).length).toBeLessThanOrEqual(chars);
          expect(failureLines(found, 5).length).toBe(Math.min(5, failures.length));
          expect(firstFailure(found)).not.toMatch(/[\r\n]/);
        },
      ),
    );
  });
});

describe('the table of reporters', () => {
  it('has patterns that can be joined to one', () => {
    for (const { sign, begins, place, again, listed, runs, passes } of REPORTERS) {
      for (const pattern of [sign, begins, place, again, listed, runs, passes])
        expect(pattern?.flags ?? '').toBe('');
    }
  });
});

describe('noise at the end', () => {
  it('is removed up to the last line that says something', () => {
    expect(withoutNoiseAtEnd(['wrong', 'npm notice', 'here', '', 'npm notice New', ' 50% ███'])).toEqual([
      'wrong',
      'npm notice',
      'here',
    ]);
    expect(withoutNoiseAtEnd(['', 'npm notice'])).toEqual([]);
  });
});
