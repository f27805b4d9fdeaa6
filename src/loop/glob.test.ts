import { describe, expect, it } from 'vitest';
import { globMatcher, globProblem } from './glob.ts';

const matches = (pattern: string, path: string): boolean => globMatcher([pattern])(path);

describe('a glob', () => {
  it.each([
    ['check.sh', 'check.sh'],
    ['./check.sh', 'check.sh'],
    ['test/**', 'test/a.ts'],
    ['test/**', 'test/deep/er/a.ts'],
    ['test', 'test/deep/a.ts'],
    ['test/', 'test/a.ts'],
    ['**', 'a'],
    ['**/a', 'a'],
    ['**/a', 'x/y/a'],
    ['a/**/b', 'a/b'],
    ['a/**/b', 'a/x/y/b'],
    ['**/*.test.*', 'src/x.test.ts'],
    ['*', '.hidden'],
    ['*.ts', '.ts'],
    ['a?c', 'abc'],
    ['[a-c]x', 'bx'],
    ['[!a-c]x', 'dx'],
    ['[^a-c]x', 'dx'],
    ['[]a]x', ']x'],
    ['[a-]x', '-x'],
    ['{a,b}/c', 'b/c'],
    ['{a,{b,c}}', 'c'],
    ['{,a/}b', 'b'],
    ['{,a/}b', 'a/b'],
    [String.raw`\*`, '*'],
    [String.raw`a\{b`, 'a{b'],
    ['*a*b*', 'xxaxxbxx'],
    ['a b/ü*', 'a b/über'],
  ])('%s matches %s', (pattern, path) => {
    expect(globProblem(pattern)).toBeNull();
    expect(matches(pattern, path)).toBe(true);
  });

  it.each([
    ['check.sh', 'sub/check.sh'],
    ['check.sh', 'check.sh2'],
    ['check.sh', 'xcheck.sh'],
    ['test/**', 'tests/a.ts'],
    ['test/**', 'src/test/a.ts'],
    ['a/*/b', 'a/b'],
    ['a/*', 'b/a'],
    ['a?c', 'a/c'],
    ['a*c', 'a/c'],
    ['[a-c]x', 'dx'],
    [String.raw`\*`, 'a'],
    ['{a,b}/c', 'c/c'],
    ['a.ts', 'a-ts'],
    ['A', 'a'],
  ])('%s does not match %s', (pattern, path) => {
    expect(matches(pattern, path)).toBe(false);
  });

  it.each([
    ['', 'empty'],
    ['  ', 'empty'],
    ['/etc/passwd', 'leading /'],
    ['../x', 'out of the workspace'],
    ['a/../../x', 'out of the workspace'],
    ['!test/**', 'negated'],
    ['./', 'must name'],
    ['{a', 'braces'],
    ['a}', 'braces'],
    ['[a', 'closed'],
    ['a\0b', 'NUL'],
    ['{a,b}'.repeat(9), 'braces'],
  ])('%j is not valid', (pattern, why) => {
    expect(globProblem(pattern)).toContain(why);
  });

  it('takes no time to speak of, whatever the pattern', { timeout: 3000 }, () => {
    expect(matches(`${'*a'.repeat(200)}b`, 'a'.repeat(5000))).toBe(false);
    expect(matches(`${'**/'.repeat(200)}b`, 'a/'.repeat(1000))).toBe(false);
    expect(matches(`${'**/*a*/'.repeat(100)}b`, 'aa/'.repeat(1000))).toBe(false);
    expect(matches(`${'[!b]*'.repeat(200)}b`, 'a'.repeat(5000))).toBe(false);
    expect(matches(`${'?*'.repeat(200)}[b-z]`, 'a'.repeat(5000))).toBe(false);
    expect(globProblem(`${'{'.repeat(1000)}${'}'.repeat(1000)}`)).toBeNull();
    expect(globProblem('{a,b,c,d,e}'.repeat(300))).toContain('braces');
    expect(globProblem(`${'{'.repeat(50_000)}${'}'.repeat(50_000)}`)).toContain('at most 4096 characters');
  });
});
