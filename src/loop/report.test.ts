import { describe, expect, it } from 'vitest';
import { nth, play } from '../../test/rig/play.ts';
import { claims, exits, limited, type FakeWorld } from '../../test/rig/world.ts';
import type { LoopEvent } from './event.ts';
import { learn, NOTHING_KNOWN, report, spends, spendsWithOpenRun } from './report.ts';

const costs = (usd: number, steps: number) =>
  ({ output: { cost: { usd, source: 'reported' }, steps } }) as const;

describe('report', () => {
  it('counts every run once, however often its output was reported', () => {
    const { journal, state } = play({}, { runs: [limited(2000, costs(0.1, 1)), claims(costs(0.2, 3))] });
    const { iterations, totalCost } = report(journal);
    expect(iterations).toMatchObject([
      { iteration: 1, cost: 0.30000000000000004, stepsTaken: 4, claim: 'accepted' },
    ]);
    expect(totalCost).toBeCloseTo(state.spent.usd, 10);
  });

  it('does not count an unknown cost as zero', () => {
    const { journal } = play({}, { runs: [limited(2000, costs(0.1, 1)), claims()] });
    expect(report(journal)).toMatchObject({ totalCost: 0.1, costIsKnown: false });
    const { journal: free } = play({}, { runs: [claims(costs(0, 1))] });
    expect(report(free)).toMatchObject({
      totalCost: 0,
      costIsKnown: true,
      iterations: [{ costIsKnown: true, run: { cost: 0 } }],
    });
  });

  it('does not report an iteration without checks as passed', () => {
    const { journal } = play({ limits: { iterations: 1 } }, { runs: [exits(0)] });
    expect(report(journal).iterations[0]).toMatchObject({ checkResults: [], allChecksPassed: false });
  });

  it('leaves out of an iteration what was found after it, and the failure of a commit message', () => {
    const checks = { commands: [{ command: 'test', action: 'APPEND', hint: null }] };
    const touched = [{ after: nth('timer.fired'), world: (world: FakeWorld) => (world.doneFile = true) }];
    const { journal } = play({ preset: 'conductor', checks }, { runs: [exits(0)], checks: [1, 0] }, touched);
    expect(report(journal).iterations).toMatchObject([{ claim: 'none', allChecksPassed: false }]);
    const commit = { command: 'git', tasks: ['commit'], message: 'agent', timeoutMs: null };
    const asked = play({ commit, limits: { iterations: 1 } }, { runs: [exits(0), exits(1)] });
    expect(report(asked.journal).iterations).toMatchObject([
      { error: null, run: { purpose: 'commit-message' } },
    ]);
  });

  it('knows the branches of the commits, if the journal does', () => {
    const { journal } = play({ limits: { iterations: 1 } }, { runs: [exits(0)] });
    const made = { at: 0, type: 'commit.made', iteration: 1, done: ['commit'], error: null } as const;
    const known = (...events: readonly LoopEvent[]) => {
      const { startBranch, branches } = report([...journal, ...events]);
      return { startBranch, branches };
    };
    expect(known({ ...made, commit: 'a' })).toEqual({ startBranch: null, branches: [] });
    const start = { at: 0, type: 'start.recorded', tree: 't' } as const;
    expect(
      known(
        { ...start, branch: 'main' },
        { ...made, commit: 'a', branch: 'main' },
        { ...made, commit: 'b', branch: null },
        { ...made, commit: null, branch: 'other' },
        { ...made, commit: 'c', branch: 'main' },
      ),
    ).toEqual({ startBranch: 'main', branches: [null, 'main'] });
  });

  it('has the same sums when it keeps only the last iterations', () => {
    const { journal } = play({ limits: { iterations: 5 } }, { runs: [exits(0, costs(0.25, 2))] });
    let known = NOTHING_KNOWN;
    for (const event of journal) known = learn(known, event, 2);
    const whole = report(journal);
    expect(whole.iterations.map(({ iteration }) => iteration)).toEqual([1, 2, 3, 4, 5]);
    expect(known.report.iterations).toEqual(whole.iterations.slice(-2));
    const { totalDuration: _, ...sums } = whole;
    expect(sums.totalCost).toBe(1.25);
    expect({ ...known.report, iterations: [] }).toEqual({ ...sums, iterations: [] });
  });

  it('counts an open run only in `spendsWithOpenRun`', () => {
    const { journal } = play({ limits: { iterations: 2 } }, { runs: [exits(0, costs(0.25, 2))] });
    const open = journal.findLastIndex(({ type }) => type === 'run.ended');
    let known = NOTHING_KNOWN;
    for (const event of journal.slice(0, open)) known = learn(known, event);
    expect(spends(known.report)).toMatchObject([{ iteration: 1, usd: 0.25 }]);
    expect(spendsWithOpenRun(known.report, known.state)).toMatchObject([
      { iteration: 1, usd: 0.25 },
      { iteration: 2, usd: 0.25 },
    ]);
  });

  it('has no success and no stop reason while the loop runs', () => {
    const { journal } = play({}, { runs: [claims()] });
    expect(report(journal.slice(0, -1))).toMatchObject({ success: false, stopReason: null, outcome: null });
    expect(report(journal)).toMatchObject({ success: true, outcome: { type: 'done' } });
  });
});
