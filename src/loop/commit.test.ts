import { describe, expect, it } from 'vitest';
import {
  begun,
  checked,
  ended,
  exited,
  given,
  limit,
  output,
  plain,
  wanted,
  write,
} from '../../test/rig/given.ts';
import { play } from '../../test/rig/play.ts';
import { claims, exits } from '../../test/rig/world.ts';
import { admits } from './admit.ts';
import type { Happening } from './event.ts';
import { findProblems } from './validate.ts';

const commit = { command: 'git', tasks: ['commit', 'push'], message: 'agent', timeoutMs: null };
const commits = { ...plain, commit };
const found = (any: boolean, error: string | null = null): Happening => {
  return { type: 'changes.found', iteration: 1, any, error };
};
const asking: Happening = {
  type: 'run.planned',
  run: '1.2',
  purpose: 'commit-message',
  guidance: [],
  prompt: null,
};
const afterRun = given(commits, ...begun, exited('1.1', 0));

describe('a checkpoint', () => {
  const recorded = { ...plain, checkpoint: true };

  it('follows every run that was not cut short, whatever its result, before the next step', () => {
    const taken: Happening = { type: 'checkpoint.taken', iteration: 1, ref: null, error: 'no room' };
    for (const code of [0, 1]) {
      const turn = [...begun, exited('1.1', code)];
      expect(wanted(given(recorded, ...turn))).toEqual({
        type: 'checkpoint',
        key: 'checkpoint:1',
        iteration: 1,
        fingerprint: false,
      });
      expect(wanted(given(recorded, ...turn, taken))).toMatchObject({ type: 'wait' });
    }
  });

  it('follows the verdict and precedes the end', () => {
    const told = play({ ...recorded, limits: { unchanged: null } }, { runs: [claims()] });
    expect(told.journal.map(({ type }) => type).slice(-3)).toEqual([
      'claim.accepted',
      'checkpoint.taken',
      'loop.ended',
    ]);
  });
});

describe('before a commit', () => {
  it('the driver looks whether there is anything to commit', () => {
    expect(wanted(afterRun)).toMatchObject({ type: 'changes', key: 'changes:1', commit });
    expect(wanted(write(afterRun, { ...found(true), at: 1 }))).toMatchObject({ purpose: 'commit-message' });
  });

  it('with nothing to commit the agent is not asked for a message and no task runs', () => {
    const told = play({ commit, limits: { iterations: 1 } }, { runs: [exits(0)], changes: ['none'] });
    expect(told.runs).toEqual(['1.1']);
    expect(told.started.filter(({ type }) => type === 'commit')).toEqual([]);
    expect(told.journal.filter(({ type }) => type === 'commit.made')).toMatchObject([
      { commit: null, done: [], error: null },
    ]);
  });

  it('with the work committed already the agent is not asked and the other tasks run', () => {
    const told = play({ commit, limits: { iterations: 1 } }, { runs: [exits(0)], changes: ['committed'] });
    expect(told.runs).toEqual(['1.1']);
    expect(told.started.filter(({ type }) => type === 'commit')).toMatchObject([{ message: 'committed' }]);
  });

  it('with a commit that is not possible the agent is not asked and the loop continues', () => {
    const told = play(
      { ...commits, limits: { iterations: 2, unchanged: null } },
      { runs: [exits(0)], changes: ['stuck', 'some'] },
    );
    expect(told.runs).toEqual(['1.1', '2.1', '2.2']);
    expect(told.journal.filter(({ type }) => type === 'commit.made')).toMatchObject([
      { done: [], error: 'a merge is in progress' },
      { done: ['commit', 'push'], error: null },
    ]);
  });

  it('without tasks nothing is done, and without a commit task the agent is not asked', () => {
    const none = { ...plain, commit: { ...commit, tasks: [] } };
    expect(wanted(given(none, ...begun, exited('1.1', 0)))).toMatchObject({ type: 'wait' });
    const push = { ...plain, commit: { ...commit, tasks: ['push'] } };
    expect(wanted(given(push, ...begun, exited('1.1', 0)))).toMatchObject({
      type: 'commit',
      key: 'commit:1',
    });
  });

  it('the found changes count once, and the driver looks again after the loop is reopened', () => {
    const once = write(afterRun, { ...found(true), at: 1 });
    expect(admits(once, { ...found(false), at: 2 })).toBe(false);
    const stop: Happening = {
      type: 'control.received',
      id: 'a',
      control: { type: 'stop', now: false, by: 'person' },
    };
    const stopped = [
      stop,
      { type: 'loop.ended', outcome: { type: 'stopped', by: 'person' } } as const,
    ].reduce((state, event) => write(state, { ...event, at: 2 }), once);
    expect(wanted(write(stopped, { type: 'loop.reopened', policy: null, at: 3 }))).toMatchObject({
      key: 'changes:1',
    });
  });
});

describe('the message', () => {
  const asked = write(write(afterRun, { ...found(true), at: 1 }), { ...asking, at: 1 });
  const after = (...told: Parameters<typeof write>[1][]) => wanted(told.reduce(write, asked));

  it('is what the run wrote', () => {
    expect(after({ ...exited('1.2', 0), at: 2 })).toMatchObject({ type: 'commit', message: { run: '1.2' } });
  });

  it('is missing if the agent was asked and failed', () => {
    expect(after({ ...exited('1.2', 1), at: 2 })).toMatchObject({ message: 'missing' });
    const wall = ended('1.2', { how: 'timed-out', which: 'wall' });
    expect(after({ ...wall, at: 2 })).toMatchObject({ message: 'missing' });
  });

  it('is a plain one if the provider refused the agent or a spending limit is reached', () => {
    const limited = [output('1.2', { ...limit(9_000_000), said: 'error' }), exited('1.2', 1)];
    expect(after(...limited.map((told) => ({ ...told, at: 2 })))).toMatchObject({ message: 'plain' });
    const down = ended('1.2', { how: 'exited', code: 1, error: { kind: 'transient', message: '529' } });
    expect(after({ ...down, at: 2 })).toMatchObject({ message: 'plain' });
    const spent = { cost: { usd: 3, source: 'reported' } } as const;
    const broke = given(
      { ...commits, limits: { costUsd: 2, unchanged: null } },
      ...begun,
      output('1.1', { ...spent, said: 'success' }),
      exited('1.1', 0),
      found(true),
    );
    expect(wanted(broke)).toMatchObject({ type: 'commit', message: 'plain' });
  });

  it('is a plain one without asking the agent if the policy says so', () => {
    const told = play(
      { commit: { ...commit, message: 'plain' }, limits: { iterations: 1 } },
      { runs: [exits(0)], changes: ['some'] },
    );
    expect(told.runs).toEqual(['1.1']);
    expect(told.started.find(({ type }) => type === 'commit')).toMatchObject({ message: 'plain' });
  });

  it('is never asked for if a check failed', () => {
    const told = play(
      { ...checked, commit, limits: { iterations: 1, unchanged: null } },
      { runs: [claims()], checks: [1] },
    );
    expect(told.runs).toEqual(['1.1']);
    expect(told.started.some(({ type }) => type === 'changes' || type === 'commit')).toBe(false);
  });
});

describe('a commit policy', () => {
  it('needs non-empty commands with balanced quotes', () => {
    const { policy } = afterRun;
    const problems = (more: object) =>
      findProblems({ ...policy, commit: { ...commit, ...more } }).map(({ field }) => field);
    expect(problems({ command: "git -c 'user.name=A B'", tasks: ['push "a b"'] })).toEqual([]);
    expect(problems({ command: ' ', tasks: ["push 'a"] })).toEqual(['commit.command', 'commit.tasks[0]']);
    expect(problems({ timeoutMs: 0 })).toEqual(['commit.timeoutMs']);
    expect(problems({ message: 'none' })).toEqual(['commit.message']);
  });
});
