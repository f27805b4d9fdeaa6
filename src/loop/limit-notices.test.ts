import { describe, expect, it } from 'vitest';
import { nth, play, received, type Tale } from '../../test/rig/play.ts';
import { claims, exits, hangs, limited } from '../../test/rig/world.ts';
import { decide } from './decide.ts';

const costs = (usd: number) => ({ output: { cost: { usd, source: 'reported' } } }) as const;
const uses = (input: number) => ({ output: { tokens: { input, output: 0, cacheRead: 0, cacheWrite: 0 } } });

const notices = ({ journal }: Pick<Tale, 'journal'>) =>
  journal.flatMap((event) => (event.type === 'limit.neared' ? [event] : []));
const types = ({ journal }: Tale): readonly string[] => journal.map(({ type }) => type);

describe('a limit of which 80 % is used', () => {
  it.each([
    ['cost', { costUsd: 0.5 }, costs(0.4), { limit: 'costUsd', used: 0.4, of: 0.5 }],
    ['tokens', { tokens: 1000 }, uses(850), { limit: 'tokens', used: 850, of: 1000 }],
    ['time', { timeMs: 10_000 }, { ms: 9000 }, { limit: 'timeMs', used: 8000, of: 10_000 }],
  ] as const)('is noticed once, in the middle of a run: %s', (_, limits, more, notice) => {
    const tale = play({ limits }, { runs: [exits(0, more), claims()] });
    expect(notices(tale)).toMatchObject([notice]);
    const all = types(tale);
    expect(all.indexOf('limit.neared')).toBeGreaterThan(all.indexOf('run.started'));
    expect(all.indexOf('limit.neared')).toBeLessThan(all.indexOf('run.ended'));
  });

  it('is noticed in the middle of a wait', () => {
    const tale = play({ limits: { timeMs: 100_000 } }, { runs: [limited(90_000), claims()] });
    expect(notices(tale)).toMatchObject([{ limit: 'timeMs', used: 80_000 }]);
    expect(tale.outcome).toMatchObject({ type: 'done' });
  });

  it('is not noticed if the same step reaches the limit', () => {
    const tale = play({ limits: { costUsd: 0.5 } }, { runs: [exits(0, costs(0.5))] });
    expect([notices(tale), tale.outcome?.type]).toEqual([[], 'cost-exhausted']);
  });

  it('is noticed again once it was raised, and not because it was lowered', () => {
    const set = (id: string, costUsd: number) => received(id, { type: 'set', limits: { costUsd } });
    const tale = play(
      { limits: { costUsd: 0.5, iterations: 9, unchanged: null } },
      { runs: [exits(0, costs(0.1))] },
      [
        { after: nth('limit.neared'), event: set('a', 0.45) },
        { after: nth('iteration.started', 5), event: set('b', 1) },
      ],
    );
    expect(notices(tale).map(({ of }) => of)).toEqual([0.5, 1]);
  });

  it('is not noticed again by a loop that is resumed', () => {
    const { journal } = play({ limits: { costUsd: 0.5, iterations: 1 } }, { runs: [exits(0, costs(0.4))] });
    const end = journal.at(-1);
    expect(end?.type).toBe('loop.ended');
    const reopened = { type: 'loop.reopened', policy: null, at: end?.at ?? 0 } as const;
    const tale = play({}, { runs: [exits(0, costs(0.01))] }, [], [...journal, reopened]);
    expect(tale.outcome?.type).toBe('iterations-exhausted');
    expect(notices(tale)).toHaveLength(1);
  });

  it('waits for no time while the loop rests', () => {
    const pause = { type: 'pause' } as const;
    const tale = play({ limits: { timeMs: 60_000 } }, { runs: [exits(0)] }, [{ atMs: 500, control: pause }]);
    expect(tale.outcome).toBeNull();
    expect(decide(tale.state).map(({ type }) => type)).toEqual(['rest']);
  });

  it('is not noticed after a stop', () => {
    const stop = { type: 'stop', now: true, by: 'person' } as const;
    const tale = play({ limits: { costUsd: 0.5 } }, { runs: [hangs({ ms: 4000, ...costs(0.4) })] }, [
      { atMs: 1000, control: stop },
    ]);
    expect([notices(tale), tale.outcome?.type]).toEqual([[], 'stopped']);
  });
});

describe('a loop without a limit on iterations without progress', () => {
  const checks = { commands: [{ command: 'test', action: 'APPEND', hint: null }] };
  const mentions = ({ journal }: Tale) => journal.filter(({ type }) => type === 'unchanged.noticed');
  const idle = [exits(0, { leaves: { change: false } })];

  it('says once that one would end it, after five iterations that changed nothing while every check passed', () => {
    const tale = play({ preset: 'architect', checks, limits: { iterations: 12 } }, { runs: idle });
    expect(mentions(tale)).toMatchObject([{ unchanged: 5 }]);
    const before = tale.journal.slice(0, types(tale).indexOf('unchanged.noticed'));
    expect(before.filter(({ type }) => type === 'iteration.started')).toHaveLength(5);
    expect(tale.outcome?.type).toBe('iterations-exhausted');
  });

  it('says nothing while a check fails or the files change, with such a limit, and in other presets', () => {
    const limits = { iterations: 12 };
    const quiet = [
      play({ preset: 'architect', checks, limits }, { runs: idle, checks: [1] }),
      play({ preset: 'architect', checks, limits }, { runs: [exits(0, { leaves: { change: true } })] }),
      play(
        { preset: 'architect', checks, limits: { ...limits, unchanged: { nudge: null, end: 9 } } },
        { runs: idle },
      ),
      play({ preset: 'promise', checks, limits }, { runs: idle }),
    ];
    expect(quiet.flatMap(mentions)).toEqual([]);
  });
});
