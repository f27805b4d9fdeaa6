import { describe, expect, it } from 'vitest';
import { claims, exits } from '../../test/rig/world.ts';
import { play, type Tale } from '../../test/rig/play.ts';
import { begun, checked, exited, given, output, plain, wanted } from '../../test/rig/given.ts';
import type { PolicyInput } from './validate.ts';

const claim = { claim: { by: 'promise-tag', text: '<promise>DONE</promise>' } } as const;
const failed = [...begun, output('1.1', claim), exited('1.1', 1)] as const;
const after = (afterFailure: string, policy: PolicyInput): PolicyInput => ({
  ...policy,
  completion: { ...plain.completion, afterFailure },
});
const types = ({ journal }: Tale) => journal.map(({ type }) => type);

describe('the claim of a failed run', () => {
  it('is rejected without checks, and not judged by its agent’s word', () => {
    const made = { type: 'claim.made', iteration: 1, run: '1.1', ...claim } as const;
    expect(wanted(given(plain, ...failed))).toMatchObject({ event: { type: 'claim.made' } });
    expect(wanted(given(plain, ...failed, made))).toMatchObject({
      event: { type: 'claim.rejected', failed: [], because: 'run-failed' },
    });
  });

  it('is decided by the checks if there are any, also where a claim alone would be enough', () => {
    expect(wanted(given(checked, ...failed))).toMatchObject({ key: 'checks:1' });
    const untilClaim = { ...checked, completion: { ...plain.completion, until: 'claim' } };
    for (const policy of [checked, untilClaim]) {
      const script = { runs: [claims({ ending: { how: 'exited', code: 1, error: null } }), exits(0)] };
      const passed = play(
        { ...policy, limits: { iterations: 2, unchanged: null } },
        { ...script, checks: [0] },
      );
      expect(passed.outcome).toMatchObject({ type: 'done', verified: true });
      expect(passed.runs).toEqual(['1.1']);
      const red = play({ ...policy, limits: { iterations: 2, unchanged: null } }, { ...script, checks: [1] });
      expect(red.outcome).toMatchObject({ type: 'iterations-exhausted' });
      expect(types(red)).toContain('claim.rejected');
    }
  });

  it('is considered or ignored where the policy says so', () => {
    expect(wanted(given(after('consider', plain), ...failed))).toMatchObject({
      event: { type: 'claim.made' },
    });
    const considered = play(after('consider', plain), {
      runs: [claims({ ending: { how: 'exited', code: 1, error: null } })],
    });
    expect(considered.outcome).toMatchObject({ type: 'done', verified: false });
    const ignored = play(after('ignore', { ...checked, limits: { iterations: 1, unchanged: null } }), {
      runs: [claims({ ending: { how: 'exited', code: 1, error: null } })],
    });
    expect(ignored.outcome).toMatchObject({ type: 'iterations-exhausted' });
    expect(types(ignored)).not.toContain('checks.started');
  });

  it('starts no check without a claim', () => {
    expect(wanted(given(checked, ...begun, exited('1.1', 1)))).toMatchObject({
      type: 'wait',
      why: 'backoff',
    });
  });

  it('is moved aside with its marker, so that it does not complete the next turn', () => {
    const marked = exits(1, { leaves: { done: true } });
    const { outcome, runs, world } = play(
      { limits: { iterations: 2, unchanged: null } },
      { runs: [marked, exits(0)] },
    );
    expect(outcome).toMatchObject({ type: 'iterations-exhausted' });
    expect(runs).toEqual(['1.1', '2.1']);
    expect(world.doneFile).toBe(false);
  });

  it('does not count through its marker file if the agent also wrote the tag', () => {
    const both = claims({ ending: { how: 'exited', code: 1, error: null }, leaves: { done: true } });
    const { outcome } = play({ limits: { iterations: 2, unchanged: null } }, { runs: [both, exits(0)] });
    expect(outcome).toMatchObject({ type: 'iterations-exhausted' });
  });

  it('does not count through a marker of a run that an outage cut short, unless checks confirm it', () => {
    const outage = exits(1, {
      leaves: { done: true },
      ending: { how: 'exited', code: 1, error: { kind: 'transient', message: '529' } },
    });
    const limits = { iterations: 1, unchanged: null };
    const plainTale = play({ limits }, { runs: [outage, exits(0)] });
    expect(plainTale.outcome).toMatchObject({ type: 'iterations-exhausted' });
    expect(plainTale.runs).toEqual(['1.1', '1.2']);
    const { checks } = checked;
    expect(play({ limits, checks }, { runs: [outage, exits(0)], checks: [0] }).outcome).toMatchObject({
      type: 'done',
      verified: true,
    });
  });

  it('commits the work of a run that an outage cut short, if its marker completes the loop', () => {
    const outage = exits(1, {
      leaves: { done: true, change: true },
      ending: { how: 'exited', code: 1, error: { kind: 'transient', message: '529' } },
    });
    const commit = { command: 'git', tasks: ['commit'], message: 'agent', timeoutMs: null };
    const tale = play(
      { checks: checked.checks, commit, checkpoint: true },
      { runs: [outage, exits(0)], checks: [0], changes: ['some'] },
    );
    expect(tale.outcome).toMatchObject({ type: 'done', verified: true });
    expect(types(tale)).toContain('commit.made');
    expect(types(tale)).toContain('checkpoint.taken');
  });

  it('is judged by its words if the exit code is unknown', () => {
    const unknown = claims({ ending: { how: 'exited', code: null, error: null } });
    expect(play(plain, { runs: [unknown] })).toMatchObject({
      outcome: { type: 'done', verified: false },
      state: { failures: { total: 0 } },
    });
  });
});
