import { expect, it } from 'vitest';
import { given, iteration, plain, planned, started } from '../../test/rig/given.ts';
import { unwrittenEnd } from './control.ts';

const begun = [iteration(1), planned('1.1'), started('1.1')] as const;
const fatal = {
  type: 'run.ended',
  run: '1.1',
  ending: { how: 'exited', code: 1, error: { kind: 'authentication', message: 'log in' } },
  jitter: 0,
} as const;
const stop = {
  type: 'control.received',
  id: 's',
  control: { type: 'stop', now: true, by: 'person' },
} as const;

it('is the fatal end that is wanted and not journaled', () => {
  expect(unwrittenEnd(given(plain, ...begun, fatal))).toMatchObject([
    { type: 'loop.ended', outcome: { type: 'fatal', message: 'log in' } },
  ]);
});

it('is not there for a loop that goes on, or that a person has stopped', () => {
  expect(unwrittenEnd(given(plain, ...begun))).toEqual([]);
  expect(unwrittenEnd(given(plain, ...begun, fatal, stop))).toEqual([]);
});
