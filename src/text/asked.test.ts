import { expect, it } from 'vitest';
import type { Told } from '../loops/events.ts';
import type { ControlRequest, LoopView } from '../loops/loops.ts';
import type { LoopEvent } from '../loop/event.ts';
import { progressOf, type Progress } from './asked.ts';

const PLANNED = { type: 'run.planned', run: '2.1', purpose: 'work', prompt: null } as const;
const PLAIN: LoopEvent = { ...PLANNED, guidance: [], at: 1 };
const PASSED_ON: LoopEvent = { ...PLANNED, guidance: ['1'], at: 1 };
const ENDED: LoopEvent = { type: 'loop.ended', outcome: { type: 'stopped', by: 'person' }, at: 1 };
const TELL = { type: 'tell', text: 'x' } as const;

function taken(control: ControlRequest): LoopEvent {
  return { type: 'control.received', id: '1', control, at: 1 };
}

/** The first event has the number 1. */
function progress(
  kind: ControlRequest['type'],
  events: readonly LoopEvent[],
  { since = 0, status = 'running', waiting = null as string | null } = {},
): Progress {
  const told = events.map((event, at): Told => ({ is: 'event', number: at + 1, event }));
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what it looks at
  return progressOf(kind, since, told, { summary: { status, waiting } } as Pick<LoopView, 'summary'>);
}

it('says that words were passed on with the first prompt after the owner took them', () => {
  expect(progress('tell', [PASSED_ON])).toEqual({ taken: null, done: null });
  expect(progress('tell', [PASSED_ON, taken(TELL)])).toEqual({ taken: 2, done: null });
  expect(progress('tell', [taken(TELL), PLAIN, PASSED_ON])).toEqual({ taken: 1, done: 3 });
});

it('does not take an earlier request for this one', () => {
  expect(progress('tell', [taken(TELL), PASSED_ON, taken(TELL)], { since: 2 })).toEqual({
    taken: 3,
    done: null,
  });
  expect(progress('pause', [taken(TELL)])).toEqual({ taken: null, done: null });
});

it('says that a pause is done once nothing runs any more', () => {
  const events = [taken({ type: 'pause' }), PLAIN];
  const pausing = { status: 'paused', waiting: 'running iteration, then the loop pauses' };
  expect(progress('pause', events, pausing)).toEqual({ taken: 1, done: null });
  expect(progress('pause', events, { status: 'paused' })).toEqual({ taken: 1, done: 2 });
});

it('says that a stop is done when the loop has ended', () => {
  const stop = taken({ type: 'stop', now: true, by: 'person' });
  expect(progress('stop', [stop])).toEqual({ taken: 1, done: null });
  expect(progress('stop', [stop, PLAIN, ENDED])).toEqual({ taken: 1, done: 3 });
});

it('says that a resume and a limit are done when the owner takes them', () => {
  expect(progress('set', [taken({ type: 'set', limits: { iterations: 5 } })])).toEqual({ taken: 1, done: 1 });
  expect(progress('resume', [taken({ type: 'resume', now: false })])).toEqual({ taken: 1, done: 1 });
});
