import { describe, expect, it } from 'vitest';
import { limited, exits, claims, hangs, type RunScript } from '../../test/rig/world.ts';
import { play } from '../../test/rig/play.ts';
import { explain, type Outcome } from './outcome.ts';
import type { LimitsPolicy } from './policy.ts';
import { presets } from './presets.ts';
import type { LoopState } from './state.ts';

const costs = (usd: number) => ({ output: { cost: { usd, source: 'reported' } } }) as const;
const uses = (input: number) =>
  ({ output: { tokens: { input, output: 0, cacheRead: 0, cacheWrite: 0 } } }) as const;
const outage: RunScript = {
  ms: 1000,
  ending: { how: 'exited', code: 1, error: { kind: 'transient', message: '529' } },
};
const notStarted: RunScript = {
  ms: 1000,
  ending: { how: 'not-started', error: { kind: 'other', message: 'gone' } },
};

const loop = (
  limits: Partial<LimitsPolicy>,
  ...runs: readonly RunScript[]
): { outcome: Outcome | null; runs: number; state: LoopState } => {
  const { journal, state } = play(
    { limits: { iterations: 20, unchanged: null, failures: null, ...limits }, checkpoint: false },
    { runs },
  );
  const ended = journal.filter(({ type }) => type === 'run.ended').length;
  return { outcome: state.outcome, runs: ended, state };
};

describe('a run of unknown usage in a loop with a limit', () => {
  it('is charged like the most expensive known run of the loop', () => {
    const { outcome, runs } = loop({ costUsd: 1 }, exits(0, costs(0.1)), exits(0, costs(0.3)), exits(1));
    // 0.1 + 0.3 are known; after two unknown runs 1.0 is reached.
    expect(runs).toBe(4);
    expect(outcome).toMatchObject({ type: 'cost-exhausted', limitUsd: 1, assumedRuns: 2 });
    expect(outcome?.type === 'cost-exhausted' ? outcome.spentUsd : null).toBeCloseTo(1);
    const tokens = loop({ tokens: 1000 }, exits(0, uses(300)), exits(1));
    expect(tokens.outcome).toEqual({ type: 'tokens-exhausted', limit: 1000, spent: 1200, assumedRuns: 3 });
    expect(tokens.runs).toBe(4);
  });

  it('is not charged like a run that used nothing: that says nothing about another run', () => {
    const { outcome, runs } = loop({ costUsd: 1 }, exits(0, costs(0)), exits(0));
    expect(runs).toBe(3);
    expect(outcome).toMatchObject({ type: 'cost-exhausted', spentUsd: null, assumedRuns: 2 });
  });

  it('is also a run whose cost is known only in part', () => {
    const partly = exits(0, { output: { cost: { usd: 0.01, source: 'estimated', isPartial: true } } });
    const { outcome, runs, state } = loop({ costUsd: 1 }, partly);
    expect(runs).toBe(2);
    expect(outcome).toMatchObject({ type: 'cost-exhausted', spentUsd: null, assumedRuns: 2 });
    expect(state.spent.unknownRuns).toBe(2);
  });

  it('is charged too if it ended before the first known run', () => {
    const { outcome, runs } = loop({ costUsd: 1 }, exits(1), exits(0, costs(0.6)));
    expect(runs).toBe(2);
    expect(outcome).toMatchObject({ type: 'cost-exhausted', spentUsd: 1.2, assumedRuns: 1 });
  });

  it('is not charged after a usage limit, an outage, or if its agent did not start', () => {
    const { outcome, runs } = loop(
      { costUsd: 1 },
      exits(0, costs(0.6)),
      limited(2000),
      outage,
      notStarted,
      limited(null),
      exits(0, costs(0.4)),
    );
    expect(runs).toBe(6);
    expect(outcome).toEqual({ type: 'cost-exhausted', limitUsd: 1, spentUsd: 1 });
  });

  it('is charged if a time limit of the run ended it', () => {
    const { outcome } = loop({ costUsd: 1 }, exits(0, costs(0.5)), hangs());
    expect(outcome).toEqual({ type: 'cost-exhausted', limitUsd: 1, spentUsd: 1, assumedRuns: 1 });
  });

  it('ends the loop after the second one if no usage is known', () => {
    const cost = loop({ costUsd: 1 }, exits(1));
    expect(cost).toMatchObject({
      runs: 2,
      outcome: { type: 'cost-exhausted', limitUsd: 1, spentUsd: null, assumedRuns: 2 },
    });
    const tokens = loop({ tokens: 10 }, limited(2000), outage, exits(0));
    expect(tokens).toMatchObject({
      runs: 4,
      outcome: { type: 'tokens-exhausted', limit: 10, spent: null, assumedRuns: 2 },
    });
  });

  it('changes nothing without a limit', () => {
    expect(loop({}, exits(0)).outcome).toMatchObject({ type: 'iterations-exhausted' });
    // The cost is unknown, and only the tokens are limited.
    expect(loop({ tokens: 2000 }, exits(0, uses(100))).outcome).toMatchObject({ spent: 2000 });
  });

  it('counts for a commit message as for work', () => {
    const { journal, state } = play(
      {
        limits: { costUsd: 1, iterations: 20, unchanged: null },
        checkpoint: false,
        commit: { command: 'git', tasks: ['commit'], message: 'agent', timeoutMs: null },
      },
      { runs: [exits(0)] },
    );
    expect(journal.filter(({ type }) => type === 'run.ended')).toHaveLength(2);
    expect(state.outcome).toMatchObject({ type: 'cost-exhausted', spentUsd: null, assumedRuns: 2 });
  });

  it('does not end a loop that is done', () => {
    expect(loop({ costUsd: 1 }, exits(1), claims()).outcome).toMatchObject({ type: 'done' });
  });
});

describe('the reason', () => {
  const reason = (outcome: Outcome): string => explain(outcome, presets.default.policy);

  it('says which part of the sum is assumed, and never a sum of nothing', () => {
    expect(reason({ type: 'cost-exhausted', limitUsd: 1, spentUsd: 1.2, assumedRuns: 1 })).toBe(
      'cost limit reached: $1.2000 of $1.0000, with 1 run of unknown cost charged like the most expensive known run',
    );
    expect(reason({ type: 'tokens-exhausted', limit: 10, spent: 12, assumedRuns: 2 })).toBe(
      'token limit reached: 12 of 10, with 2 runs of unknown usage charged like the most expensive known run',
    );
    expect(reason({ type: 'cost-exhausted', limitUsd: 1, spentUsd: null, assumedRuns: 2 })).toBe(
      'cannot enforce the cost limit of $1.0000: 2 runs did not report their cost, and the cost of no other run is known',
    );
    expect(reason({ type: 'tokens-exhausted', limit: 10, spent: null, assumedRuns: 2 })).toBe(
      'cannot enforce the token limit of 10: 2 runs did not report their tokens, and those of no other run are known',
    );
  });
});
