import { describe, expect, it } from 'vitest';
import {
  begun,
  checked,
  ended,
  ending,
  exited,
  given,
  iteration,
  limit,
  output,
  plain,
  planned,
  received,
  wanted,
  write,
} from '../../test/rig/given.ts';
import { decide } from './decide.ts';
import type { Happening } from './event.ts';

const claim = { claim: { by: 'promise-tag', text: '<promise>DONE</promise>' } } as const;

const commits = {
  ...plain,
  commit: { command: 'git', tasks: ['commit'], message: 'agent', timeoutMs: null },
};
const changed: Happening = { type: 'changes.found', iteration: 1, any: true, error: null };
const asking: Happening = {
  type: 'run.planned',
  run: '1.2',
  purpose: 'commit-message',
  guidance: [],
  prompt: null,
};

describe('edge cases', () => {
  const money = (usd: number) => ({ cost: { usd, source: 'reported' } }) as const;
  const broke = { ...checked, limits: { costUsd: 2, unchanged: null } };

  it('judges a finished run even if its last line exceeds the cost limit', () => {
    const finished = given(broke, ...begun, output('1.1', { ...money(3), ...claim, said: 'success' }));
    expect(wanted(finished)).toMatchObject({ key: 'run:1.1' });
    for (const how of [{ how: 'interrupted' }, { how: 'exited', code: 0, error: null }] as const) {
      expect(wanted(write(finished, { ...ended('1.1', how), at: 1 }))).toMatchObject({ key: 'checks:1' });
    }
  });

  it('recognises a usage limit after which the agent stays inactive', () => {
    for (const which of ['inactivity', 'wall'] as const) {
      const sat = given(
        plain,
        ...begun,
        output('1.1', limit(9_000_000)),
        ended('1.1', { how: 'timed-out', which }),
      );
      expect(wanted(sat)).toMatchObject({ type: 'wait', why: 'usage-limit', until: 9_000_000 });
      expect(sat.failures.total).toBe(0);
    }
  });

  it('wants nothing besides an open run after a policy change', () => {
    const state = given(commits, ...begun, exited('1.1', 0), changed, asking);
    expect(
      decide(write(state, { type: 'policy.changed', policy: { ...state.policy, commit: null }, at: 1 })),
    ).toEqual([]);
  });

  it('moves a rejected marker aside, so that it does not claim again', () => {
    const marked = {
      ...checked,
      completion: { detectors: [{ kind: 'marker', file: 'DONE', phases: ['after'] }] },
    };
    const probe: Happening = {
      type: 'probe.finished',
      key: 'probe:1.1:after',
      phase: 'after',
      markers: ['DONE'],
      problem: null,
      messages: [],
      fingerprint: null,
    };
    const red: Happening = {
      type: 'check.finished',
      iteration: 1,
      run: '1.1',
      index: 0,
      command: 'test',
      result: { code: 1, timedOut: false, durationMs: 1, log: 'l' },
    };
    const checks: Happening = { type: 'checks.started', iteration: 1, run: '1.1' };
    const made: Happening = {
      type: 'claim.made',
      iteration: 1,
      run: '1.1',
      claim: { by: 'marker', text: 'DONE' },
    };
    const state = given(marked, ...begun, exited('1.1', 0), probe, checks, red, made);
    expect(wanted(state)).toMatchObject({ event: { type: 'claim.rejected' }, moveAside: ['DONE'] });
  });

  it('keeps a claim that ends the run even if the agent takes it back', () => {
    const gone = given(
      plain,
      ...begun,
      output('1.1', { ...claim, claimEndsRun: true }),
      output('1.1', { offset: 9 }),
    );
    expect(wanted(write(gone, { ...ended('1.1', { how: 'interrupted' }), at: 1 }))).toMatchObject({
      key: 'claim:1',
    });
  });

  it('commits accepted work of an agent that exited with an error, and never with half a message', () => {
    const made: Happening = { type: 'claim.made', iteration: 1, run: '1.1', ...claim };
    const accepted: Happening = { type: 'claim.accepted', iteration: 1, run: '1.1', verified: false };
    const trusting = { ...commits, completion: { ...plain.completion, afterFailure: 'consider' } };
    const state = given(trusting, ...begun, output('1.1', claim), exited('1.1', 1), made, accepted, changed);
    expect(wanted(state)).toMatchObject({ key: 'run:1.2' });
    const failed = [asking, exited('1.2', 1)].reduce((now, told) => write(now, { ...told, at: 1 }), state);
    expect(wanted(failed)).toMatchObject({ key: 'commit:1', message: 'missing' });
  });

  it('does not start an agent that was planned but not started at the stop', () => {
    const state = given(
      plain,
      iteration(1),
      planned('1.1'),
      received('a', { type: 'stop', now: false, by: 'person' }),
    );
    expect(decide(state)).toEqual([]);
  });

  it('pauses again at the next SIGTERM after a resume', () => {
    const term = (id: string) => received(id, { type: 'signal', signal: 'SIGTERM' });
    const swarm = { ...plain, signals: { SIGTERM: 'pause' } };
    const again = given(swarm, term('a'), received('b', { type: 'resume', now: false }), term('c'));
    expect(wanted(again)).toEqual({ type: 'rest', key: 'rest' });
  });

  it('repeats guidance that no agent has read', () => {
    const taken: Happening = {
      type: 'run.planned',
      run: '1.1',
      purpose: 'work',
      guidance: ['a'],
      prompt: null,
    };
    const neverLived = ended('1.1', { how: 'not-started', error: { kind: 'transient', message: 'busy' } });
    const state = given(
      plain,
      received('a', { type: 'tell', text: 'use bun' }),
      iteration(1),
      taken,
      neverLived,
    );
    expect(state.control.guidance).toEqual([{ id: 'a', text: 'use bun' }]);
  });

  it('ends as fatal when the driver cannot continue', () => {
    const state = given(plain, received('a', { type: 'abort', message: 'no space left on the disk' }));
    expect(ending(state)).toEqual({ type: 'fatal', message: 'no space left on the disk' });
  });

  it('continues under the policy that it is reopened with', () => {
    const state = given({ ...plain, limits: { iterations: 1, unchanged: null } }, ...begun, exited('1.1', 0));
    const over = write(state, {
      type: 'loop.ended',
      outcome: { type: 'iterations-exhausted', limit: 1 },
      at: 1,
    });
    const policy = { ...over.policy, limits: { ...over.policy.limits, iterations: 2 } };
    expect(wanted(write(over, { type: 'loop.reopened', policy, at: 2 }))).toMatchObject({
      key: 'iteration:2',
    });
    expect(ending(write(over, { type: 'loop.reopened', policy: null, at: 2 }))).toMatchObject({ limit: 1 });
  });
});
