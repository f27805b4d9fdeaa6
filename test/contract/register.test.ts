import { describe, expect, it } from 'vitest';
import { contractPage, numbersOf, readRequirements, type Requirement } from './register.ts';

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

  it('gives a reason for what is dropped', () => {
    expect(readRequirements().filter(({ status, why }) => status === 'dropped' && why.length < 10)).toEqual(
      [],
    );
  });
});

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

  it('cannot be done by a number that is not asked', () => {
    expect(row([{ ...requirement, status: 'not asked' }], ['S1.10 x', 'src/loop/a.test.ts'])).toContain(
      '| not asked |',
    );
  });

  it('belongs to a requirement that exists', () => {
    expect(() => contractPage([requirement], [{ name: 'S9.9 what', file: 'a' }])).toThrow('S9.9');
  });

  it('is found by the numbers at the head of a test’s name', () => {
    expect(numbersOf('S1.10 S2.3 does it')).toEqual(['S1.10', 'S2.3']);
    expect(numbersOf('does S1.10')).toEqual([]);
  });
});
