import { describe, expect, it } from 'vitest';
import { ALL_METERED } from './charge.ts';
import { fold } from './evolve.ts';
import { entryOf, countFor, isUrgent, newCount, payersOf, type LedgerEntry } from './family.ts';
import type { FamilyCount, LoopEvent, UpperLimits } from './event.ts';
import { spendingExhausted } from './limits.ts';
import { explain, type Outcome } from './outcome.ts';
import { presets } from './presets.ts';
import type { LoopState } from './state.ts';
import { exits } from '../../test/rig/world.ts';
import { play } from '../../test/rig/play.ts';

const NO_LIMITS = { usd: null, tokens: null, timeMs: null, until: null };

function entry(name: string, payer: string | null, usd: number, limits: object = {}): LedgerEntry {
  const unmetered = { usd: ALL_METERED, tokens: ALL_METERED };
  return { name, payer, usd, tokens: usd * 100, unmetered, limits: { ...NO_LIMITS, ...limits } };
}

/** A loop above, in a family without runs of unknown usage. */
function upper(name: string, limits: object): Pick<UpperLimits, 'id' | 'name' | 'limits' | 'uncharged'> {
  return { id: `${name}-1`, name, limits: { ...NO_LIMITS, ...limits }, uncharged: { usd: 0, tokens: 0 } };
}

/** A root with a limit, two children and a grandchild. */
const FAMILY = new Map([
  ['root-1', entry('root', null, 1, { usd: 5 })],
  ['a-1', entry('a', 'root-1', 0.5)],
  ['b-1', entry('b', 'root-1', 0.25, { tokens: 900 })],
  ['c-1', entry('c', 'b-1', 2)],
  ['d-1', entry('d', 'b-1', 0)],
]);

describe('the ledger of a family', () => {
  it('tells a loop what the loops below it have spent, and how many have spent anything', () => {
    expect(countFor('root-1', FAMILY)).toEqual({ below: { loops: 3, usd: 2.75, tokens: 275 }, above: [] });
    expect(countFor('b-1', FAMILY).below).toEqual({ loops: 1, usd: 2, tokens: 200 });
  });

  it('tells a loop the limits above it, the nearest first, and what all others have spent towards each', () => {
    expect(countFor('c-1', FAMILY).above).toEqual([
      { ...upper('b', { tokens: 900 }), others: { usd: 0.25, tokens: 25 } },
      { ...upper('root', { usd: 5 }), others: { usd: 1.75, tokens: 175 } },
    ]);
    expect(countFor('a-1', FAMILY).above.map(({ name }) => name)).toEqual(['root']);
  });

  it('charges runs of unknown usage as the dearest run of the family, however many loops they are spread over', () => {
    const dearest = { usd: { dearest: 0.5, runs: 0 }, tokens: ALL_METERED };
    const silent = { usd: { dearest: null, runs: 2 }, tokens: { dearest: null, runs: 2 } };
    const family = new Map([
      ['root-1', { ...entry('root', null, 1, { usd: 5 }), unmetered: dearest }],
      ['a-1', { ...entry('a', 'root-1', 0), unmetered: silent }],
      ['b-1', { ...entry('b', 'root-1', 0), unmetered: silent }],
    ]);
    expect(countFor('root-1', family).below).toEqual({ loops: 2, usd: 2, tokens: 0 });
    // The runs of a loop itself count by its own rule.
    expect(countFor('a-1', family).above).toMatchObject([{ others: { usd: 2 }, uncharged: { usd: null } }]);
  });

  it('tells how many runs of other loops nothing can be charged for, as long as no loop knows what a run uses', () => {
    const silent = (runs: number): object => {
      const unmetered = { usd: { dearest: null, runs }, tokens: { dearest: null, runs } };
      return { unmetered };
    };
    const family = new Map([
      ['root-1', { ...entry('root', null, 0, { usd: 5 }), ...silent(1) }],
      ['a-1', { ...entry('a', 'root-1', 0), ...silent(2) }],
      ['b-1', { ...entry('b', 'root-1', 0), ...silent(4) }],
    ]);
    expect(countFor('b-1', family).above).toMatchObject([{ uncharged: { usd: 3, tokens: 3 } }]);
  });

  it('has an end also if two of its entries name each other', () => {
    const forged = new Map([
      ['a-1', entry('a', 'b-1', 1)],
      ['b-1', entry('b', 'a-1', 2)],
    ]);
    expect(payersOf('a-1', forged)).toEqual(['b-1']);
    expect(countFor('a-1', forged).below).toEqual({ loops: 1, usd: 2, tokens: 200 });
  });
});

describe('a loop of a family', () => {
  const costs = { output: { cost: { usd: 0.5, source: 'reported' } } } as const;
  const { journal } = play(
    { limits: { costUsd: 3, iterations: 2, unchanged: null }, checkpoint: false },
    { runs: [exits(0, costs)] },
  );
  const open = journal.slice(0, -1);

  function counted(count: FamilyCount): LoopState {
    const at = open.at(-1)?.at ?? 0;
    const event: LoopEvent = { type: 'family.counted', ...count, at };
    return fold([...open, event]);
  }

  const above = (limits: object, usd: number): FamilyCount['above'] => [
    { ...upper('root', limits), others: { usd, tokens: 0 } },
  ];
  const none = { loops: 0, usd: 0, tokens: 0 };

  it('writes absolute sums into its entry, with its own limits', () => {
    expect(entryOf(fold(open), 'root-1')).toEqual({
      name: 'tale',
      payer: 'root-1',
      usd: 1,
      tokens: 0,
      unmetered: { usd: { dearest: 0.5, runs: 0 }, tokens: { dearest: null, runs: 2 } },
      limits: { ...NO_LIMITS, usd: 3 },
    });
  });

  it('ends at its own limit because of what its children have spent', () => {
    expect(spendingExhausted(counted({ below: { loops: 2, usd: 1.9, tokens: 0 }, above: [] }))).toBeNull();
    const reached = spendingExhausted(counted({ below: { loops: 2, usd: 2, tokens: 0 }, above: [] }));
    expect(reached).toEqual({ type: 'cost-exhausted', limitUsd: 3, spentUsd: 3 });
  });

  it('ends at a limit of a loop above, and says whose it is', () => {
    expect(spendingExhausted(counted({ below: none, above: above({ usd: 8 }, 6.9) }))).toBeNull();
    const reached = spendingExhausted(counted({ below: none, above: above({ usd: 8 }, 7) }));
    const family = { id: 'root-1', name: 'root' };
    expect(reached).toEqual({ type: 'cost-exhausted', limitUsd: 8, spentUsd: 8, family });
    expect(reached === null ? '' : explain(reached, presets.default.policy)).toBe(
      'cost limit of the family of "root" reached: $8.0000 of $8.0000',
    );
  });

  it('ends if too many runs of its family can be charged with nothing, but lets an open run report its usage', () => {
    const limited = { checkpoint: false, limits: { costUsd: null, iterations: 3, unchanged: null } };
    const silent = play(limited, { runs: [exits(0)] }).journal;
    const told = (until: LoopEvent['type'], uncharged: number | null): Outcome | null => {
      const events = silent.slice(0, silent.findIndex(({ type }) => type === until) + 1);
      const [root] = above({ usd: 8 }, 0);
      if (root === undefined) throw new Error('no loop above');
      const count = { below: none, above: [{ ...root, uncharged: { usd: uncharged, tokens: 0 } }] };
      return spendingExhausted(
        fold([...events, { type: 'family.counted', ...count, at: events.at(-1)?.at ?? 0 }]),
      );
    };
    expect(told('iteration.started', 1)).toBeNull();
    expect(told('iteration.started', 2)).toEqual({
      type: 'cost-exhausted',
      limitUsd: 8,
      spentUsd: null,
      assumedRuns: 2,
      family: { id: 'root-1', name: 'root' },
    });
    expect(told('run.started', 2)).toBeNull();
    // Its own run counts too.
    expect(told('run.ended', 1)).toMatchObject({ spentUsd: null, assumedRuns: 2 });
    expect(told('run.ended', null)).toBeNull();
  });

  it('ends at the end of the time of a loop above, which is no sum', () => {
    const { now } = fold(open);
    expect(
      spendingExhausted(counted({ below: none, above: above({ timeMs: 9, until: now + 1 }, 0) })),
    ).toBeNull();
    expect(
      spendingExhausted(counted({ below: none, above: above({ timeMs: 9000, until: now }, 0) })),
    ).toEqual({
      type: 'time-exhausted',
      limitMs: 9000,
      family: { id: 'root-1', name: 'root' },
    });
  });

  it('journals a count once, and at once only if something follows from it', () => {
    const state = counted({ below: none, above: above({ usd: 8 }, 1) });
    const same = { below: none, above: above({ usd: 8 }, 1) };
    const more = { below: none, above: above({ usd: 8 }, 2) };
    expect(newCount(state, same)).toBeNull();
    expect(newCount(state, null)).toBeNull();
    expect(newCount(state, more)).toEqual({ type: 'family.counted', ...more });
    expect([same, more].map((count) => isUrgent(state, count))).toEqual([false, false]);
    expect(isUrgent(state, { below: none, above: above({ usd: 7 }, 1) })).toBe(true);
    expect(isUrgent(state, { below: none, above: [] })).toBe(true);
  });
});
