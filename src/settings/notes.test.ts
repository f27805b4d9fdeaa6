import { expect, it } from 'vitest';
import { adviceOn } from './notes.ts';

it('S1.47 advises against more than 50 iterations', () => {
  expect([adviceOn({}), adviceOn({ maxIterations: 50 })]).toEqual([[], []]);
  expect(adviceOn({ maxIterations: 1000 })).toEqual([expect.stringMatching(/^1000 iterations .*10 .*50 /)]);
});
