import { describe, expect, it } from 'vitest';
import { nth, play, type Tale } from '../../test/rig/play.ts';
import { claims, exits, limited } from '../../test/rig/world.ts';
import type { LoopEvent } from './event.ts';
import { evolve } from './evolve.ts';
import { INITIAL } from './initial.ts';
import { comesAfter, noticesOf, NOTICE_KINDS, type Notice, type NoticeMemory } from './notice.ts';
import type { LoopState } from './state.ts';

function told(journal: readonly LoopEvent[]): readonly Notice[] {
  let [state, memory]: [LoopState, NoticeMemory] = [INITIAL, {}];
  return journal.flatMap((event, index) => {
    const after = evolve(state, event);
    const found = noticesOf(memory, event, index + 1, [state, after]);
    ({ memory } = found);
    state = after;
    return found.notices;
  });
}

/** Everything but the iterations. */
const kinds = ({ journal }: Pick<Tale, 'journal'>): readonly string[] =>
  told(journal).flatMap(({ kind, about }) => (kind === 'iteration.ended' ? [] : [`${kind} ${about}`]));

const refused = { how: 'exited', code: 1 } as const;
const hour = 3_600_000;

describe('a notice is due when a loop', () => {
  it('is done, stuck, fails, or reaches a limit', () => {
    expect(kinds(play({}, { runs: [claims()] }))).toEqual(['loop.done done']);
    expect(kinds(play({ limits: { iterations: 2 } }, { runs: [exits(0)] }))).toEqual([
      'limit.reached iterations-exhausted',
    ]);
    expect(kinds(play({ limits: { failures: 2 } }, { runs: [exits(1)] }))).toEqual([
      'loop.failed failures-exhausted',
    ]);
    expect(
      kinds(play({ limits: { unchanged: { nudge: null, end: 2 }, iterations: null } }, { runs: [exits(0)] })),
    ).toEqual(['loop.stuck stuck']);
  });

  it('has an agent whose login has expired, instead of one that it failed', () => {
    const error = { kind: 'authentication', message: 'please log in' } as const;
    const { journal } = play({}, { runs: [exits(1)] });
    const ended = journal.map((event): LoopEvent =>
      event.type === 'run.ended' ? { ...event, as: 'fatal', ending: { ...refused, error } } : event,
    );
    const at = ended.findIndex(({ type }) => type === 'run.ended');
    const end = { type: 'loop.ended', outcome: { type: 'fatal', message: 'please log in' }, at: 1 } as const;
    expect(kinds({ journal: [...ended.slice(0, at + 1), end] })).toEqual(['login.expired login']);
  });

  it('nears a limit', () => {
    const costs = { output: { cost: { usd: 0.4, source: 'reported' } } } as const;
    expect(kinds(play({ limits: { costUsd: 0.5 } }, { runs: [exits(0, costs), claims()] }))).toEqual([
      'limit.neared costUsd',
      'loop.done done',
    ]);
    const runs = Array.from({ length: 10 }, () => exits(0));
    expect(kinds(play({ limits: { iterations: 10, unchanged: null } }, { runs }))).toEqual([
      'limit.neared iterations',
      'limit.reached iterations-exhausted',
    ]);
    expect(kinds(play({ limits: { iterations: 4 } }, { runs }))).toEqual([
      'limit.reached iterations-exhausted',
    ]);
  });

  it('waits for a usage limit for more than an hour, once however often it tries again', () => {
    const waits = play({}, { runs: [limited(2 * hour), limited(3 * hour), limited(2 * hour), claims()] });
    expect(kinds(waits)).toEqual(['usage-limit.waiting usage-limit', 'loop.done done']);
    expect(kinds(play({}, { runs: [limited(hour / 2), claims()] }))).toEqual(['loop.done done']);
    const again = play({}, { runs: [limited(2 * hour), exits(0), limited(2 * hour), claims()] });
    expect(kinds(again).filter((one) => one.startsWith('usage'))).toHaveLength(2);
  });

  it('is asked something, once for each question, when it is the next to be answered', () => {
    const ask = (id: string) =>
      ({ type: 'question.asked', id, text: `${id}?`, default: null, timeoutMs: null }) as const;
    const tale = play({}, { runs: [exits(0), exits(0), claims()] }, [
      { after: nth('run.started'), event: ask('one') },
      { after: nth('run.ended'), event: ask('two') },
      { atMs: 100_000, control: { type: 'answer', question: null, text: 'yes' } },
      { atMs: 200_000, control: { type: 'answer', question: null, text: 'no' } },
    ]);
    expect(kinds(tale)).toEqual([
      'person.needed question one',
      'person.needed question two',
      'loop.done done',
    ]);
  });

  it('ends an iteration, in order and once', () => {
    const { journal } = play({ limits: { iterations: 3 } }, { runs: [exits(0), exits(1), exits(0)] });
    const ended = told(journal).filter(({ kind }) => kind === 'iteration.ended');
    expect(ended.map(({ about }) => about)).toEqual(['1', '2', '3']);
  });
});

it('a state that is entered again is told of again only after a minute', () => {
  const { journal } = play({ limits: { iterations: 1 } }, { runs: [exits(0)] });
  const end = journal.at(-1);
  const again = (ms: number): readonly LoopEvent[] => {
    const at = (end?.at ?? 0) + ms;
    const outcome = { type: 'iterations-exhausted', limit: 1 } as const;
    return [
      { type: 'loop.reopened', policy: null, at },
      { type: 'loop.ended', outcome, at },
    ];
  };
  expect(kinds({ journal: [...journal, ...again(30_000)] })).toHaveLength(1);
  expect(kinds({ journal: [...journal, ...again(61_000)] })).toHaveLength(2);
});

it('the numbers of notices are those of their events, and their order is the order in which they are due', () => {
  const { journal } = play({ limits: { iterations: 2 } }, { runs: [exits(0)] });
  const notices = told(journal);
  for (const { number, event } of notices) expect(journal[number - 1]).toBe(event);
  for (const [index, notice] of notices.entries()) {
    expect(comesAfter(notice, notices[index - 1] ?? null)).toBe(true);
    expect(comesAfter(notice, notice)).toBe(false);
  }
  expect(new Set(NOTICE_KINDS).size).toBe(NOTICE_KINDS.length);
});
