import { describe, expect, it } from 'vitest';
import {
  ending,
  exited,
  given,
  iteration,
  plain,
  planned,
  received,
  started,
  wanted,
  type Entry,
} from '../../test/rig/given.ts';
import type { PlanProbe } from './plan.ts';

const capped = {
  ...plain,
  plan: { file: 'PLAN.md' },
  limits: { iterations: 20, unchanged: null, attemptsPerItem: 2 },
  checkpoint: false,
};

const plan = (key: string | null, more: Partial<PlanProbe> = {}): PlanProbe => ({
  done: 0,
  total: 2,
  missing: 0,
  next: key === null ? null : { name: key, within: [], details: '', key },
  ticked: [],
  moreTicked: 0,
  changed: null,
  problem: null,
  ...more,
});

const probed = (run: string, phase: 'before' | 'after', found: PlanProbe): Entry => ({
  type: 'probe.finished',
  key: `probe:${run}:${phase}`,
  phase,
  markers: [],
  problem: null,
  messages: [],
  fingerprint: null,
  plan: found,
});

/** An iteration that is shown an item, and what the probe after it finds. */
function worksOn(n: number, key: string, after: PlanProbe = plan(key)): readonly Entry[] {
  const run = `${n}.1`;
  return [
    probed(run, 'before', plan(key)),
    iteration(n),
    planned(run),
    started(run),
    exited(run, 0),
    probed(run, 'after', after),
    { type: 'timer.fired', key: `wait:${run}` },
  ];
}

const tried = (key: string, isBlocked: boolean) => ({ key, isBlocked });

describe('an item of the plan', () => {
  it('is blocked once it was the next one in as many iterations as it may be', () => {
    expect(wanted(given(capped))).toMatchObject({ type: 'probe', plan: { tried: [] } });
    const once = worksOn(1, 'a');
    expect(wanted(given(capped, ...once))).toMatchObject({ plan: { tried: [tried('a', false)] } });
    const twice = [...once, ...worksOn(2, 'a')];
    expect(wanted(given(capped, ...twice))).toMatchObject({ plan: { tried: [tried('a', true)] } });
    const next = given(capped, ...twice, ...worksOn(3, 'b'));
    expect(wanted(next)).toMatchObject({ plan: { tried: [tried('a', true), tried('b', false)] } });
    const set = received('s', { type: 'set', limits: { attemptsPerItem: 3 } });
    expect(wanted(given(capped, ...twice, set))).toMatchObject({ plan: { tried: [tried('a', false)] } });
  });

  it('is asked for after its run, too, and forgotten once it is done', () => {
    const during = given(capped, ...worksOn(1, 'a').slice(0, -2));
    expect(wanted(during)).toMatchObject({ phase: 'after', plan: { tried: [tried('a', false)] } });
    const done = [...worksOn(1, 'a'), ...worksOn(2, 'a', plan('b', { finished: ['a'] }))];
    expect(given(capped, ...done).attempts).toEqual([]);
  });

  it('has no more attempts by a run that was cut short, and none without a limit', () => {
    const limit = { type: 'run.ended', run: '1.1', ending: { how: 'interrupted' }, jitter: 0 } as const;
    const [before, begins, plans, starts] = worksOn(1, 'a');
    const cut = given(
      capped,
      ...[before, begins, plans, starts].filter((entry) => entry !== undefined),
      limit,
      { type: 'timer.fired', key: 'wait:1.1' },
    );
    expect(cut.attempts).toEqual([]);
    const unlimited = { ...capped, limits: { ...capped.limits, attemptsPerItem: null } };
    expect(wanted(given(unlimited, ...worksOn(1, 'a')))).toMatchObject({ plan: { file: 'PLAN.md' } });
    expect(wanted(given(unlimited, ...worksOn(1, 'a')))).not.toHaveProperty('plan.tried');
  });
});

describe('a loop whose open items are all blocked', () => {
  const blocked = [
    ...worksOn(1, 'a'),
    ...worksOn(2, 'a'),
    probed('3.1', 'before', plan(null, { blocked: ['a'], moreBlocked: 1 })),
  ];
  const outcome = { type: 'stuck', unchanged: 2, blocked: ['a'], moreBlocked: 1 } as const;

  it('ends as stuck with their names', () => {
    expect(ending(given(capped, ...blocked))).toEqual(outcome);
  });

  it('goes on if one of them is free, or none is open', () => {
    const free = probed('3.1', 'before', plan('b', { blocked: ['a'] }));
    expect(ending(given(capped, ...blocked.slice(0, -1), free))).toBeNull();
    expect(ending(given(capped, ...blocked.slice(0, -1), probed('3.1', 'before', plan(null))))).toBeNull();
  });

  it('tries every item again when a person resumes it', () => {
    const again = given(
      capped,
      ...blocked,
      { type: 'loop.ended', outcome },
      { type: 'loop.reopened', policy: null },
    );
    expect(again.attempts).toEqual([]);
    expect(wanted(again)).toMatchObject({ type: 'probe', phase: 'before', plan: { tried: [] } });
  });
});
