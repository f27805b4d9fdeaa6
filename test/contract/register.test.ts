import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { contractPage, numbersOf, parseRequirement, readRequirements, type Requirement } from './register.ts';

const requirement: Requirement = {
  id: 'S1.10',
  areas: ['completion'],
  needs: ['core', 'product'],
  status: 'asked',
  why: '',
  line: 'DONE first.',
};
const row = (requirements: readonly Requirement[], ...tests: readonly (readonly [string, string])[]) =>
  contractPage(
    requirements,
    tests.map(([name, file]) => ({ name, file })),
  )
    .split('\n')
    .find((line) => line.startsWith('| S1.10 '));

describe('the register', () => {
  it('has every requirement of the five documents, once and in order', () => {
    const ids = readRequirements().map(({ id }) => id);
    const counts = [83, 117, 61, 105, 62];
    expect(ids).toEqual(
      counts.flatMap((count, index) => Array.from({ length: count }, (_, n) => `S${index + 1}.${n + 1}`)),
    );
  });

  it('names an existing page for every difference', () => {
    const differing = readRequirements().filter(({ status }) => status === 'differs');
    expect(differing.length).toBeGreaterThan(0);
    expect(differing.filter(({ why }) => !pagesIn(why).some(isPage))).toEqual([]);
  });

  it('contains what Ralph does instead, and rejects an unknown status', () => {
    const line = (status: string) => `S1.1 | core loop, limits | core, product | ${status} | It loops.`;
    expect(parseRequirement(line('differs: it walks (docs/decisions/0001)'))).toEqual({
      id: 'S1.1',
      areas: ['core loop', 'limits'],
      needs: ['core', 'product'],
      status: 'differs',
      why: 'it walks (docs/decisions/0001)',
      line: 'It loops.',
    });
    expect(parseRequirement(line('not asked'))).toMatchObject({ status: 'not asked', why: '' });
    for (const status of ['differs', 'dropped: it walks', 'done'])
      expect(() => parseRequirement(line(status))).toThrow('not a requirement');
  });
});

/** The pages that a text names, such as `docs/decisions/0010`. */
const pagesIn = (text: string) => text.match(/docs\/[\w/.-]*\w/g) ?? [];
const isPage = (page: string) => {
  const folder = new URL(`../../${dirname(page)}/`, import.meta.url);
  return existsSync(folder) && readdirSync(folder).some((file) => file.startsWith(basename(page)));
};

describe('a row of the page', () => {
  it('is open without a test', () => {
    expect(row([requirement])).toContain('| open |');
  });

  it('is done only with a test in every layer that it needs', () => {
    const core = ['S1.10 prefers DONE', 'test/contract/s1.test.ts'] as const;
    const product = ['S1.9 S1.10 both', 'test/e2e/run.test.ts'] as const;
    const other: Requirement = { ...requirement, id: 'S1.9' };
    expect(row([other, requirement], core)).toContain('| core done, product open |');
    expect(row([other, requirement], product)).toContain('| product done, core open |');
    expect(row([other, requirement], core, product)).toContain('| **done** |');
    expect(row([other, requirement], ['mentions S1.10 in passing', 'test/e2e/run.test.ts'])).toContain(
      '| open |',
    );
  });

  it('stays not asked, whatever its tests are', () => {
    expect(row([{ ...requirement, status: 'not asked' }], ['S1.10 x', 'src/loop/a.test.ts'])).toContain(
      '| not asked |',
    );
  });

  it('shows what Ralph does instead after the sentence, with its tests', () => {
    const why = 'it prefers the limit (docs/decisions/0001)';
    const different: Requirement = { ...requirement, status: 'differs', why };
    expect(row([different], ['S1.10 prefers the limit', 'test/e2e/run.test.ts'])).toBe(
      `| S1.10 | differs | DONE first. *Ralph:* ${why}. | prefers the limit (run.test.ts) |`,
    );
  });
});

describe('a number in the name of a test', () => {
  it('must belong to a requirement', () => {
    expect(() => contractPage([requirement], [{ name: 'S9.9 what', file: 'a' }])).toThrow('S9.9');
  });

  it('counts only at the head of the name', () => {
    expect(numbersOf('S1.10 S2.3 does it')).toEqual(['S1.10', 'S2.3']);
    expect(numbersOf('does S1.10')).toEqual([]);
  });
});
