import { describe, expect, it } from 'vitest';
import {
  begun,
  ended,
  ending,
  exited,
  given,
  iteration,
  output,
  plain,
  planned,
  started,
  wanted,
  type Entry,
} from '../../test/rig/given.ts';
import type { Happening } from './event.ts';

const TOO_LONG = 'prompt is too long: 210000 tokens > 200000 maximum';
const refused = (run: string, message = TOO_LONG): Entry =>
  ended(run, { how: 'exited', code: 1, error: { kind: 'request-refused', message } });
const next = (n: number, prompt: Happening = planned(`${n}.1`)): Entry[] => [
  { type: 'timer.fired', key: `wait:${n - 1}.1` },
  iteration(n),
  prompt,
  started(`${n}.1`),
];
const plannedWith = (run: string, base: string): Happening => ({
  type: 'run.planned',
  run,
  purpose: 'work',
  guidance: [],
  prompt: { path: 'p', hash: `${base} ${run}`, base },
});

describe('a request that the provider refuses', () => {
  it('is a failure the first time, and ends the loop the second time', () => {
    const once = given(plain, ...begun, [1, refused('1.1')]);
    expect(wanted(once)).toMatchObject({ type: 'wait', why: 'backoff' });
    expect(once.failures.total).toBe(1);
    const twice = given(
      plain,
      ...begun,
      [1, refused('1.1')],
      [2, next(2)[0] ?? iteration(2)],
      ...next(2).slice(1),
      refused('2.1'),
    );
    expect(ending(twice)).toEqual({
      type: 'fatal',
      message: `the same prompt failed twice: ${TOO_LONG}`,
    });
  });

  /** Two refused runs; `steps` are the tool calls of each. */
  const twice = (bases: readonly [string, string], messages: readonly [string, string], steps: number) =>
    given(
      plain,
      iteration(1),
      plannedWith('1.1', bases[0]),
      started('1.1'),
      output('1.1', { steps }),
      [1, refused('1.1', messages[0])],
      [2, next(2)[0] ?? iteration(2)],
      ...next(2, plannedWith('2.1', bases[1])).slice(1),
      output('2.1', { steps }),
      refused('2.1', messages[1]),
    );

  it('ends the loop even if Ralph has added to the prompt meanwhile', () => {
    expect(ending(twice(['a', 'a'], ['210 tokens', '211 tokens'], 0))).toMatchObject({ type: 'fatal' });
  });

  it('stays a failure if the prompt or the reason is another one, or if the agent had worked before', () => {
    expect(wanted(twice(['a', 'b'], ['too long', 'too long'], 0))).toMatchObject({ type: 'wait' });
    expect(wanted(twice(['a', 'a'], ['too long', 'too many images'], 0))).toMatchObject({ type: 'wait' });
    expect(wanted(twice(['a', 'a'], ['too long', 'too long'], 3))).toMatchObject({ type: 'wait' });
  });

  it('counts from the beginning again after a run that succeeded', () => {
    const events: Entry[] = [...next(2), exited('2.1', 0), ...next(3), refused('3.1')];
    const state = given(
      plain,
      ...begun,
      [1, refused('1.1')],
      ...events.map((event, index) => [index + 2, event] as const),
    );
    expect(state.iteration).toBe(3);
    expect(wanted(state)).toMatchObject({ type: 'wait', why: 'backoff' });
  });
});
