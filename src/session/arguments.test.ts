import { describe, expect, it } from 'vitest';
import { UserError } from '../user-error.ts';
import { parseRalphArguments } from './arguments.ts';

const task = (text: string): string => parseRalphArguments(text).prompt;

describe('the task', () => {
  it('S5.44 is in quotes, followed by options', () => {
    expect(parseRalphArguments('"Fix all" --max-iterations=25 --completion-promise=ALL_FIXED')).toEqual({
      prompt: 'Fix all',
      maxIterations: 25,
      completionPromise: 'ALL_FIXED',
      checks: [],
    });
  });

  it.each([
    ["'Fix all' --max-iterations=2", 'Fix all'],
    ['Fix all --max-iterations=2', 'Fix all'],
    ['Fix all\n--max-iterations=2', 'Fix all'],
    ['Fix all', 'Fix all'],
    ['  "Fix all"  ', 'Fix all'],
  ])('S5.61 is in single or double quotes, else the text before the first ` --`: %j', (text, expected) => {
    expect(task(text)).toBe(expected);
  });

  it.each(['', '   ', '""', "''", '--max-iterations=2', '"" --max-iterations=2'])(
    'S5.61 defaults to `Complete the task as instructed`: %j',
    (text) => {
      expect(task(text)).toBe('Complete the task as instructed');
    },
  );

  it.each([
    ['"Run npm test -- --watch=false" --max-iterations=2', 'Run npm test -- --watch=false'],
    ['"line one\nline two\n\n---\nrule"', 'line one\nline two\n\n---\nrule'],
    ['line one\n\n---\nrule --max-iterations=2', 'line one\n\n---\nrule'],
    ['"replace $& with $$ and $`, not $\'"', "replace $& with $$ and $`, not $'"],
    [String.raw`"say \"yes\" and go on" --max-iterations=2`, 'say "yes" and go on'],
    ['"say "yes" and go on" --max-iterations=2', 'say "yes" and go on'],
    ['"say "--max-iterations=9" aloud" --max-iterations=2', 'say "--max-iterations=9" aloud'],
    ["'don't stop' --max-iterations=2", "don't stop"],
    ['"foo" and "bar" must match --max-iterations=2', '"foo" and "bar" must match'],
    ['"foo" and "bar" --max-iterations=2', '"foo" and "bar"'],
    [String.raw`"a path C:\new \d+ \\ end"`, String.raw`a path C:\new \d+ \\ end`],
    ['"not closed', '"not closed'],
    ['"stop"', 'stop'],
    ['"stop the server" --max-iterations=2', 'stop the server'],
    ['"say "yes" --loudly please" --max-iterations=2', 'say "yes" --loudly please'],
    ['"explain --check" --max-iterations=2', 'explain --check'],
    ['tidy up — check the links --max-iterations=2', 'tidy up — check the links'],
    ['`rm -rf` $(reboot); echo', '`rm -rf` $(reboot); echo'],
  ])('is taken as it is: %j', (text, expected) => {
    expect(task(text)).toBe(expected);
    expect(parseRalphArguments(text).maxIterations).toBe(text.endsWith('=2') ? 2 : undefined);
  });
});

describe('the options', () => {
  it('S5.61 have values after `=` or a space, quoted or not', () => {
    const all = parseRalphArguments(
      `Do it --max-iterations 3 --completion-promise="ALL DONE" --check "npm test" --check='grep "x" y' ` +
        '--max-time=2h --max-cost $5 --max-tokens=1000 --strategy=continue',
    );
    expect(all).toEqual({
      prompt: 'Do it',
      maxIterations: 3,
      completionPromise: 'ALL DONE',
      checks: ['npm test', 'grep "x" y'],
      maxTime: '2h',
      maxCost: 5,
      maxTokens: 1000,
    });
  });

  it.each([
    [String.raw`x --check "grep \"a b\" c"`, 'grep "a b" c'],
    ['x --check "grep "a b" c"', 'grep "a b" c'],
    ['x --check "npm test -- --run" --max-iterations=2', 'npm test -- --run'],
    ['x --check "echo $& `id`"', 'echo $& `id`'],
  ])('keep a command whole: %j', (text, expected) => {
    expect(parseRalphArguments(text).checks).toEqual([expected]);
  });

  it.each([
    ['x --max-iteration=5', 'unknown option --max-iteration, expected --max-iterations,'],
    ['x -- y', 'unknown option --, expected --max-iterations,'],
    ['"x" --constructor=5', 'unknown option --constructor,'],
    ['x --max-iterations=many', '--max-iterations must be a whole number >= 1, got "many"'],
    ['x --max-iterations=0', '--max-iterations must be a whole number >= 1, got "0"'],
    ['x --max-iterations=', '--max-iterations must be a whole number >= 1, got ""'],
    ['x --max-iterations', '--max-iterations needs a value, got nothing'],
    ['x --max-iterations --check y', '--max-iterations needs a value, got nothing'],
    ['x --completion-promise=""', '--completion-promise must not be empty, got ""'],
    ['x --check " "', '--check must not be empty, got " "'],
    ['x --max-time=soon', '--max-time must be a time such as 90, 90s, 15m or 2h, got "soon"'],
    ['x --max-cost=free', '--max-cost must be an amount > 0 such as 5 or 0.50, got "free"'],
    ['x --max-tokens=1.5', '--max-tokens must be a whole number >= 1, got "1.5"'],
    ['x --completion-promise=ALL DONE', 'unexpected "DONE" after the options: write the task first'],
    ['--max-iterations=2 "x"', 'unexpected "\\"x\\"" after the options: write the task first'],
    ['x --check "npm test', 'the quote is not closed in "\\"npm test"'],
    ['x --strategy=other', '--strategy must be reset or continue, got "other"'],
    ['"x" --checks "npm test"', 'unknown option --checks, expected --max-iterations,'],
    ['"x" --Check "npm test" --max-iterations=2', 'unknown option --Check,'],
    ['"x --check "npm test"', 'the quotes do not match in "\\"x --check \\"npm test\\""'],
    ['"x --check "npm test" --max-iterations=2', 'the quotes do not match in'],
    ['"x" -m 3', 'unknown option -m, expected --max-iterations,'],
    ['--check "npm test" "fix it"', 'unexpected "\\"fix" after the options: write the task first'],
    ['x —check "npm test"', '"—check" begins with a long dash; type two hyphens: --check'],
    ['x –max-iterations=3', '"–max-iterations" begins with a long dash; type two hyphens: --max-iterations'],
    ['x --check “npm test”', 'the quote “ is not understood; type " instead'],
    ['--help', 'usage: "task" [--check "command"] [--max-iterations=N]'],
    ['"x" --help', 'usage: "task"'],
    ['-h', 'usage: "task"'],
    ['help', 'usage: "task"'],
    ['stop', 'the task is only "stop"; cancel-ralph ends the loop of a session'],
    ['cancel', 'the task is only "cancel"; cancel-ralph ends the loop of a session'],
    ['status', 'the task is only "status"; ralph-status shows the loop of a session'],
  ])('that cannot be understood are named: %j', (text, message) => {
    expect(() => parseRalphArguments(text)).toThrow(UserError);
    expect(() => parseRalphArguments(text)).toThrow(message);
  });

  it('S5.61 know `--strategy=reset`, which a session cannot do, and say what can', () => {
    expect(() => parseRalphArguments('x --strategy=reset')).toThrow(/fresh session.*ralph run/);
  });
});
