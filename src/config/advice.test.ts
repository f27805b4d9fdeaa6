import { expect, it } from 'vitest';
import { adviceOn } from './advice.ts';

it('S1.47 advises against more iterations than are worth it, where somebody asks for them', () => {
  expect([adviceOn({}), adviceOn({ maximumIterations: 50 })]).toEqual([[], []]);
  expect(adviceOn({ maximumIterations: 1000 })).toEqual([
    expect.stringMatching(/^1000 iterations .*10 .*50 /),
  ]);
});
