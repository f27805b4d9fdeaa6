import { expect, it } from 'vitest';
import { inDocumentNames, resolveAliases } from './aliases.ts';

it('S2.27 puts the names of document 001 under ours and remembers how they were written', () => {
  const { content, clashes, written } = resolveAliases({
    maximumIterations: 3,
    guardrails: [{ command: 'a', action: 'APPEND' }, { command: 'b', failAction: 'REPLACE' }, 'c'],
    maxCost: 5,
  });
  expect(content).toEqual({
    maxIterations: 3,
    checks: [
      { command: 'a', failAction: 'APPEND' },
      { command: 'b', failAction: 'REPLACE' },
      { command: 'c' },
    ],
    maxCost: 5,
  });
  expect(clashes).toEqual([]);
  expect(
    ['maxIterations', 'checks', 'checks[0].failAction', 'checks[1].failAction', 'maxCost', ''].map(written),
  ).toEqual([
    'maximumIterations',
    'guardrails',
    'guardrails[0].action',
    'guardrails[1].failAction',
    'maxCost',
    '',
  ]);
});

it('reports both names of one setting, also inside a check', () => {
  const check = { command: 'a', action: 'APPEND', failAction: 'APPEND' };
  expect(resolveAliases({ maxIterations: 3, maximumIterations: 3, checks: [check] }).clashes).toEqual([
    { alias: 'maximumIterations', name: 'maxIterations' },
    { alias: 'checks[0].action', name: 'checks[0].failAction' },
  ]);
  expect(resolveAliases({ guardrails: [], checks: [] }).clashes).toEqual([
    { alias: 'guardrails', name: 'checks' },
  ]);
});

it('ignores a name that is undefined, and content that is not an object', () => {
  const { content, clashes } = resolveAliases({ maxIterations: undefined, maximumIterations: 3 });
  expect({ content, clashes }).toEqual({ content: { maxIterations: 3 }, clashes: [] });
  expect([null, 5, 'x', ['y']].map((value) => resolveAliases(value).content)).toEqual([null, 5, 'x', ['y']]);
  expect(resolveAliases({ checks: 'x' }).content).toEqual({ checks: 'x' });
});

it('writes the names of document 001 in the same order', () => {
  const settings = { preset: 'ralph-cli', maxIterations: 3, checks: [{ command: 'a' }] } as const;
  expect(JSON.stringify(inDocumentNames(settings))).toBe(
    '{"preset":"ralph-cli","maximumIterations":3,"guardrails":[{"command":"a"}]}',
  );
});
