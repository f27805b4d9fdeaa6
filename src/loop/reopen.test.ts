import { describe, expect, it } from 'vitest';
import { evolve } from './evolve.ts';
import type { Control, Happening, LoopEvent } from './event.ts';
import {
  begun,
  checked,
  ended,
  ending,
  exited,
  given,
  plain,
  received,
  wanted,
  write,
} from '../../test/rig/given.ts';
import { nth, play } from '../../test/rig/play.ts';
import { claims, exits } from '../../test/rig/world.ts';
import type { LoopState } from './state.ts';

const full: Control = { type: 'abort', message: 'no space left on device' };
const fatal: Happening = {
  type: 'loop.ended',
  outcome: { type: 'fatal', message: 'no space left on device' },
};
const reopened: Happening = { type: 'loop.reopened', policy: null };
const commits = {
  ...checked,
  commit: { command: 'git', tasks: ['commit'], message: 'plain', timeoutMs: null },
} as const;
const after = (state: LoopState, ...events: readonly Happening[]): LoopState =>
  events.reduce((now, event) => write(now, { ...event, at: 9 }), state);

describe('a person who resumes', () => {
  it.each<Control>([
    { type: 'stop', now: false, by: 'person' },
    { type: 'stop', now: true, by: 'person' },
    { type: 'signal', signal: 'SIGINT' },
    full,
  ])('supersedes an earlier $type', (control) => {
    const asked = given(plain, ...begun, received('a', control), ended('1.1', { how: 'interrupted' }));
    expect(wanted(asked)?.key).not.toBe('wait:1.1');
    const resumed = after(
      asked,
      { type: 'owner.changed', owner: '2' },
      received('b', { type: 'resume', now: false }),
    );
    expect(wanted(resumed)).toMatchObject({ key: 'wait:1.1' });
  });

  it('makes the next Ctrl-C the first one again', () => {
    const interrupt: Control = { type: 'signal', signal: 'SIGINT' };
    const resumed = given(
      plain,
      ...begun,
      received('a', interrupt),
      received('b', { type: 'resume', now: false }),
    );
    expect(wanted(after(resumed, received('c', interrupt)))).toMatchObject({ key: 'run:1.1' });
  });
});

describe('a loop that is resumed after an abort', () => {
  it('runs the checks that its run is owed before the next iteration', () => {
    const aborted = given(checked, ...begun, exited('1.1', 0), received('a', full), fatal);
    expect(wanted(after(aborted, reopened))).toMatchObject({ key: 'checks:1' });
  });

  it('makes the commit and the checkpoint that its run is owed', () => {
    const told = play(
      { ...commits, checkpoint: true, limits: { iterations: 2, unchanged: null } },
      { runs: [exits(0)], changes: ['some'] },
      [{ after: nth('changes.found'), control: full }],
    );
    expect(told.outcome).toMatchObject({ type: 'fatal' });
    const again = play(
      {},
      { runs: [exits(0)], changes: ['some'] },
      [],
      [...told.journal, { ...reopened, at: told.state.now }],
    );
    const before = again.journal.slice(told.journal.length);
    const position = (type: LoopEvent['type']) => before.findIndex((event) => event.type === type);
    expect(position('commit.made')).toBeGreaterThan(0);
    expect(position('checkpoint.taken')).toBeGreaterThan(position('commit.made'));
    expect(position('iteration.started')).toBeGreaterThan(position('checkpoint.taken'));
    expect(before[position('commit.made')]).toMatchObject({ iteration: 1 });
  });

  it('looks again for a marker that was broken', () => {
    const marked = { ...plain, completion: { ...plain.completion, handOver: { marker: 'WAIT' } } };
    const broken: Happening = {
      type: 'probe.finished',
      key: 'probe:1.1:after',
      phase: 'after',
      markers: [],
      problem: 'WAIT is a folder',
      messages: [],
      fingerprint: null,
    };
    const state = given(marked, ...begun, exited('1.1', 0), broken);
    expect(ending(state)).toEqual({ type: 'fatal', message: 'WAIT is a folder' });
    const over = after(state, {
      type: 'loop.ended',
      outcome: { type: 'fatal', message: 'WAIT is a folder' },
    });
    expect(wanted(after(over, reopened))).toMatchObject({ key: 'probe:1.1:after' });
  });

  it('runs an agent again that the abort cut short', () => {
    const state = given(checked, ...begun, received('a', full), ended('1.1', { how: 'interrupted' }), fatal);
    expect(wanted(after(state, reopened))).toMatchObject({ key: 'run:1.2' });
  });

  it('begins the next iteration after a limit, because everything before it was done', () => {
    const state = given(
      { ...plain, limits: { iterations: 1, unchanged: null, lookedAt: 'after-iteration' } },
      ...begun,
      exited('1.1', 0),
      { type: 'loop.ended', outcome: { type: 'iterations-exhausted', limit: 1 } },
    );
    expect(after(state, reopened).turn).toMatchObject({ iteration: 2, run: null });
  });
});

describe('an end that its owner has not confirmed', () => {
  const doubted: Happening = { type: 'loop.reopened', policy: null, because: 'unconfirmed-end' };
  const done: Happening = {
    type: 'loop.ended',
    outcome: { type: 'done', verified: true, childrenLeft: [] },
  };
  const again = (told: ReturnType<typeof play>, checks: readonly number[]): ReturnType<typeof play> =>
    play({}, { runs: [exits(0)], checks }, [], [...told.journal, { ...doubted, at: told.state.now }]);
  const told = play({ ...commits, checkpoint: true }, { runs: [claims()], checks: [0], changes: ['some'] });

  it('is an end again after its checks have passed once more; nothing else is repeated', () => {
    expect(told.outcome).toMatchObject({ type: 'done' });
    const { journal, outcome } = again(told, [0]);
    expect(outcome).toEqual({ type: 'done', verified: true, childrenLeft: [] });
    expect(journal.slice(told.journal.length + 2).map(({ type }) => type)).toEqual([
      'checks.started',
      'check.finished',
      'claim.made',
      'claim.accepted',
      'loop.ended',
    ]);
  });

  it('is rejected by a check that fails now, and the loop goes on with the next iteration', () => {
    const { journal } = again(told, [1]);
    const since = journal.slice(told.journal.length + 1);
    expect(since.find(({ type }) => type === 'claim.rejected')).toMatchObject({
      iteration: 1,
      failed: ['test'],
    });
    expect(since.find(({ type }) => type === 'iteration.started')).toMatchObject({ iteration: 2 });
  });

  it('is taken back where it was written during a run: the run is still open', () => {
    const running = evolve(given(checked, ...begun), { ...done, at: 1 });
    expect(running.outcome).toMatchObject({ type: 'done' });
    expect(wanted(after(running, doubted))).toMatchObject({ key: 'run:1.1' });
  });

  it('is no claim where the agent has made none', () => {
    const forged = evolve(given(checked, ...begun, exited('1.1', 0)), { ...done, at: 1 });
    const checking = after(forged, doubted, { type: 'checks.started', iteration: 1, run: '1.1' });
    expect(wanted(checking)).toMatchObject({ key: 'check:1.1' });
    const passed = after(checking, {
      type: 'check.finished',
      iteration: 1,
      run: '1.1',
      index: 0,
      command: 'test',
      result: { code: 0, timedOut: false, durationMs: 1, log: 'x' },
    });
    expect(wanted(passed)).toMatchObject({ key: 'wait:1.1' });
  });

  it('is only that of a loop that is done', () => {
    const stopped = evolve(given(checked, ...begun), { ...fatal, at: 1 });
    expect(after(stopped, doubted)).toBe(stopped);
  });
});
