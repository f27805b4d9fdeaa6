import { describe, expect, it } from 'vitest';
import { nth, play } from '../../test/rig/play.ts';
import { claims, exits, limited, type FakeWorld } from '../../test/rig/world.ts';
import { report } from './report.ts';

const costs = (usd: number, steps: number) =>
  ({ output: { cost: { usd, source: 'reported' }, steps } }) as const;

describe('report', () => {
  it('counts every run once, however often its output was told', () => {
    const { journal, state } = play({}, { runs: [limited(2000, costs(0.1, 1)), claims(costs(0.2, 3))] });
    const { iterations, totalCost } = report(journal);
    expect(iterations).toMatchObject([
      { iteration: 1, cost: 0.30000000000000004, stepsTaken: 4, claim: 'accepted' },
    ]);
    expect(totalCost).toBeCloseTo(state.spent.usd, 10);
  });

  it('does not take what nobody has said for nothing', () => {
    const { journal } = play({}, { runs: [limited(2000, costs(0.1, 1)), claims()] });
    expect(report(journal)).toMatchObject({ totalCost: 0.1, costIsKnown: false });
    const { journal: told } = play({}, { runs: [claims(costs(0, 1))] });
    expect(report(told)).toMatchObject({
      totalCost: 0,
      costIsKnown: true,
      iterations: [{ costIsKnown: true, runs: [{ cost: 0 }] }],
    });
  });

  it('does not take an iteration without checks for one that passed them', () => {
    const { journal } = play({ limits: { iterations: 1 } }, { runs: [exits(0)] });
    expect(report(journal).iterations[0]).toMatchObject({ checkResults: [], allChecksPassed: false });
  });

  it('does not book on an iteration what was found before the next one, nor the failure of a commit message', () => {
    const checks = { commands: [{ command: 'test', action: 'APPEND', hint: null }] };
    const touched = [{ after: nth('timer.fired'), world: (world: FakeWorld) => (world.doneFile = true) }];
    const { journal } = play({ preset: 'conductor', checks }, { runs: [exits(0)], checks: [1, 0] }, touched);
    expect(report(journal).iterations).toMatchObject([{ claim: 'none', allChecksPassed: false }]);
    const commit = { command: 'git', tasks: ['commit'], message: 'agent', timeoutMs: null };
    const asked = play({ commit, limits: { iterations: 1 } }, { runs: [exits(0), exits(1)] });
    expect(report(asked.journal).iterations).toMatchObject([
      { error: null, runs: [{ purpose: 'work' }, { purpose: 'commit-message' }] },
    ]);
  });

  it('is neither a success nor a stop while the loop goes on', () => {
    const { journal } = play({}, { runs: [claims()] });
    expect(report(journal.slice(0, -1))).toMatchObject({ success: false, stopReason: null, outcome: null });
    expect(report(journal)).toMatchObject({ success: true, outcome: { type: 'done' } });
  });
});
