import { describe, expect, it } from 'vitest';
import type { RunEnding } from '../../src/loop/event.ts';
import { isFatal } from '../../src/loop/failure.ts';
import { explain } from '../../src/loop/outcome.ts';
import { presets } from '../../src/loop/presets.ts';
import { resolvePolicy } from '../../src/loop/validate.ts';
import { nth, play, type Tale } from '../rig/play.ts';
import { exits, hangs } from '../rig/world.ts';

const conductor = (iterations: number) => ({ preset: 'conductor', limits: { iterations } });
const done = { leaves: { done: true } };
const types = ({ journal }: Tale) => journal.map(({ type }) => type);
const message = ({ outcome }: Tale) => (outcome === null ? null : explain(outcome, presets.conductor.policy));

describe('the surface', () => {
  it('S1.1 starts one agent after the other, never two, until DONE, the limit or a cancellation', () => {
    const told = play(conductor(10), { runs: [exits(0), exits(1), exits(0, done)] });
    expect(told.runs).toEqual(['1.1', '2.1', '3.1']);
    expect(told.outcome).toMatchObject({ type: 'done' });
    const turns = types(told).filter((type) => type === 'run.planned' || type === 'run.ended');
    expect(turns).toEqual([
      'run.planned',
      'run.ended',
      'run.planned',
      'run.ended',
      'run.planned',
      'run.ended',
    ]);
    expect(play(conductor(2), { runs: [exits(1)] }).outcome?.type).toBe('iterations-exhausted');
    const stop = { type: 'stop', now: true, by: 'person' } as const;
    expect(play(conductor(2), { runs: [hangs()] }, [{ atMs: 500, control: stop }]).outcome?.type).toBe(
      'stopped',
    );
  });

  it('S1.2 takes options over the defaults of the document, or fails naming the bad one', () => {
    expect(resolvePolicy({ preset: 'conductor', delay: { afterOkMs: -1 } })).toEqual({
      ok: false,
      problems: [{ field: 'delay.afterOkMs', expected: 'a whole number >= 0', got: '-1' }],
    });
    expect(resolvePolicy({ preset: 'conductor', limits: { iterations: 3 } })).toMatchObject({
      ok: true,
      policy: { limits: { iterations: 3 }, delay: { afterOkMs: 1000 } },
    });
  });

  it('S1.6 S1.7 gives every attempt a number of its own; exit code 0 is no error, and success ends without one', () => {
    const told = play(conductor(3), { runs: [exits(1), exits(0, done)] });
    const attempts = told.journal.flatMap((event) =>
      event.type === 'iteration.started' ? [event.iteration - 1] : [],
    );
    expect(attempts).toEqual([0, 1]);
    expect(told.state.failures.total).toBe(1);
    expect(told.exitCode).toBe(0);
  });
});

describe('the order of one turn', () => {
  it('S1.8 asks for cancellation, DONE and the limit, runs, counts, asks for DONE again and waits', () => {
    const told = play(conductor(1), { runs: [exits(0)] });
    expect(types(told)).toEqual([
      'loop.created',
      'probe.finished',
      'iteration.started',
      'run.planned',
      'run.started',
      'run.output',
      'run.output',
      'run.ended',
      'probe.finished',
      'checkpoint.taken',
      'timer.fired',
      'probe.finished',
      'loop.ended',
    ]);
  });

  it('S1.9 ends as cancelled and not as done when both are true', () => {
    const stop = { type: 'stop', now: true, by: 'person' } as const;
    const told = play(conductor(5), { world: (world) => (world.doneFile = true) }, [
      { after: nth('loop.created'), control: stop },
    ]);
    expect(told.outcome).toEqual({ type: 'stopped', by: 'person' });
    expect(told.runs).toEqual([]);
  });

  it('S1.10 prefers DONE to the limit, also when the limit is 0', () => {
    expect(play(conductor(0), { world: (world) => (world.doneFile = true) }).outcome).toMatchObject({
      type: 'done',
    });
  });

  it('S1.11 allows exactly N runs, and none at all for 0', () => {
    expect(play(conductor(3), { runs: [exits(0)] }).runs).toHaveLength(3);
    const none = play(conductor(0), {});
    expect(none.runs).toEqual([]);
    expect(none.outcome).toEqual({ type: 'iterations-exhausted', limit: 0 });
  });

  it.each([0, 1, 2, 126, 127, 143, 255])('S1.12 goes on after exit code %i', (code) => {
    const told = play(conductor(2), { runs: [exits(code), exits(0, done)] });
    expect(told.runs).toEqual(['1.1', '2.1']);
  });

  it('S1.13 records a failed attempt with its cause and goes on', () => {
    const told = play(conductor(2), { runs: [exits(7)] });
    expect(told.state.failures).toEqual({ consecutive: 2, total: 2 });
    expect(told.state.feedback.error).toBe('agent exited with code 7');
  });

  it('S1.14 knows no other ending: twenty failures in a row do not stop it', () => {
    const told = play(conductor(20), { runs: [exits(1)] });
    expect(told.runs).toHaveLength(20);
    expect(told.outcome?.type).toBe('iterations-exhausted');
  });

  it('S1.15 waits after every attempt, failed or not, but not once DONE was found', () => {
    const told = play(conductor(9), { runs: [exits(0), exits(1), exits(0, done)] });
    expect(told.waits).toEqual([1000, 1000]);
  });

  it('S1.16 waits once more after the last permitted attempt, then reports the limit', () => {
    const told = play(conductor(2), { runs: [exits(0)] });
    expect(told.waits).toEqual([1000, 1000]);
    expect(types(told).slice(-3)).toEqual(['timer.fired', 'probe.finished', 'loop.ended']);
  });

  it('S1.17 ends the wait at once when it is cancelled', () => {
    const told = play({ ...conductor(9), delay: { afterOkMs: 10_000 } }, { runs: [exits(0)] }, [
      { atMs: 5000, control: { type: 'stop', now: true, by: 'person' } },
    ]);
    expect(told.waits).toEqual([10_000]);
    expect(told.outcome).toEqual({ type: 'stopped', by: 'person' });
    expect(told.world.clock).toBe(1_000_000 + 5000);
    expect(told.runs).toEqual(['1.1']);
  });

  it('S1.18 sees a DONE that somebody touched during the wait, and runs nothing more', () => {
    const told = play(conductor(9), { runs: [exits(0)] }, [
      { after: nth('timer.fired'), world: (world) => (world.doneFile = true) },
    ]);
    expect(told.outcome?.type).toBe('done');
    expect(told.runs).toEqual(['1.1']);
  });
});

describe('the DONE marker', () => {
  it('S1.19 S1.20 is a file called DONE; that it is there is all that is asked', () => {
    const told = play(conductor(2), { runs: [exits(0, done)] });
    expect(told.started.filter(({ type }) => type === 'probe')).toMatchObject([
      { markers: ['DONE'] },
      { phase: 'after' },
    ]);
    expect(told.journal.find(({ type }) => type === 'claim.made')).toMatchObject({
      claim: { by: 'marker', text: 'DONE' },
    });
  });

  it('S1.21 S1.22 ends the loop with what is wrong with it', () => {
    for (const problem of ['DONE is a directory', 'stat DONE: permission denied']) {
      const told = play(conductor(2), { problem });
      expect(told.outcome).toEqual({ type: 'fatal', message: problem });
      expect(told.runs).toEqual([]);
    }
  });

  it('S1.22 takes a missing marker for not done', () => {
    expect(play(conductor(1), { runs: [exits(0)] }).outcome?.type).toBe('iterations-exhausted');
  });

  it('S1.23 waits for children that are still at work, at most so long, starts nothing, and succeeds', () => {
    const born = { after: nth('run.started'), event: { type: 'child.started', child: 'kid' } } as const;
    const told = play(conductor(2), { runs: [exits(0, done)] }, [
      born,
      { atMs: 60_000, event: { type: 'child.ended', child: 'kid' } },
    ]);
    expect(told.world.clock).toBe(1_000_000 + 60_000);
    expect(told.outcome).toEqual({ type: 'done', verified: false, childrenLeft: [] });

    const waited = play(conductor(2), { runs: [exits(0, done)] }, [{ ...born, after: nth('run.started') }]);
    expect(waited.started.at(-1)).toMatchObject({ type: 'children', children: ['kid'], pollMs: 1000 });
    expect(waited.outcome).toEqual({ type: 'done', verified: false, childrenLeft: ['kid'] });
    expect(waited.world.clock).toBeGreaterThanOrEqual(1_000_000 + 300_000);
    expect(waited.runs).toEqual(['1.1']);
  });

  it('S1.52 succeeds if children outlast the wait, and is cancelled if someone cancels the wait', () => {
    const stop = { atMs: 60_000, control: { type: 'stop', now: true, by: 'person' } } as const;
    const waits = (...more: readonly (typeof stop)[]) =>
      play(conductor(2), { runs: [exits(0, done)] }, [
        { after: nth('run.started'), event: { type: 'child.started', child: 'kid' } },
        ...more,
      ]).outcome;
    expect(waits()).toMatchObject({ type: 'done', childrenLeft: ['kid'] });
    expect(waits(stop)).toEqual({ type: 'stopped', by: 'person' });
  });

  it('S1.26 succeeds without a single run when it was there before', () => {
    const told = play(conductor(5), { world: (world) => (world.doneFile = true) });
    expect(told.runs).toEqual([]);
    expect(told.outcome?.type).toBe('done');
    expect(told.exitCode).toBe(0);
  });

  it('S1.27 outranks the exit code of the attempt that made it', () => {
    const told = play(conductor(5), { runs: [exits(1, done)] });
    expect(told.runs).toEqual(['1.1']);
    expect(told.outcome?.type).toBe('done');
  });
});

describe('other endings', () => {
  it('S1.29 says `max restarts exceeded` and exits 1', () => {
    const told = play(conductor(2), { runs: [exits(1)] });
    expect(message(told)).toBe('max restarts exceeded');
    expect(told.exitCode).toBe(1);
  });

  it('S1.30 tells a cancellation from a deadline', () => {
    const stopped = (by: 'person' | 'deadline') =>
      play(conductor(5), { runs: [hangs()] }, [
        { after: nth('run.started'), control: { type: 'stop', now: true, by } },
      ]);
    expect(message(stopped('person'))).toBe('cancelled by a person');
    expect(message(stopped('deadline'))).toBe('deadline exceeded');
  });

  it('S1.39 fails a run after five minutes with `agent timeout` and tries again within the limit', () => {
    const told = play(conductor(2), { runs: [hangs(), exits(0, done)] });
    expect(told.journal.find(({ type }) => type === 'run.ended')).toMatchObject({
      at: 1_000_000 + 300_000 + 1,
      ending: { how: 'timed-out', which: 'wall' },
    });
    expect(told.state.failures.total).toBe(1);
    expect(told.runs).toEqual(['1.1', '2.1']);
    const once = play(conductor(1), { runs: [hangs()] });
    expect(once.state.feedback.error).toBe('agent timeout');
  });

  it.each([
    ['exit code 42', exits(42)],
    ['a bus message', exits(0, { leaves: { message: 'wait_without_restart' } })],
    ['a file', exits(0, { leaves: { wait: true } })],
  ])('S1.41 S1.42 ends without a restart and without an error on %s', (_, run) => {
    const told = play(conductor(5), { runs: [run] });
    expect(told.outcome).toEqual({ type: 'waiting' });
    expect(told.runs).toEqual(['1.1']);
    expect(told.exitCode).toBe(0);
  });

  it('prefers DONE to a wish to wait in the same run', () => {
    expect(play(conductor(5), { runs: [exits(42, done)] }).outcome?.type).toBe('done');
  });

  it.each([
    ['transient', 'iterations-exhausted'],
    ['other', 'iterations-exhausted'],
    ['authentication', 'fatal'],
    ['command-not-found', 'bad-input'],
    ['not-executable', 'bad-input'],
    ['invalid-configuration', 'bad-input'],
  ] as const)('S1.44 takes %s for what it is', (kind, outcome) => {
    const ending: RunEnding =
      kind === 'transient' || kind === 'authentication'
        ? { how: 'exited', code: 1, error: { kind, message: 'no' } }
        : { how: 'not-started', error: { kind, message: 'no' } };
    expect(play(conductor(2), { runs: [exits(1, { ending })] }).outcome?.type).toBe(outcome);
  });

  it('S1.44 takes a program that is gone for a misfortune, and no mistake, once an agent has run', () => {
    const ending: RunEnding = { how: 'not-started', error: { kind: 'command-not-found', message: 'gone' } };
    expect(play(conductor(3), { runs: [exits(0), exits(0, { ending })] }).outcome).toEqual({
      type: 'fatal',
      message: 'gone',
    });
  });

  it('S1.45 is fatal where trying again cannot help, and nowhere else', () => {
    expect(
      (['command-not-found', 'not-executable', 'permission-denied', 'invalid-configuration'] as const).every(
        isFatal,
      ),
    ).toBe(true);
    expect((['transient', 'other'] as const).some(isFatal)).toBe(false);
    expect(play(conductor(3), { runs: [exits(127)] }).runs).toHaveLength(3);
  });

  it('S1.48 lives through the named cases: immediate and late success, limit, cancel, fatal error, delay', () => {
    expect(play(conductor(9), { runs: [exits(0, done)] }).runs).toHaveLength(1);
    expect(play(conductor(9), { runs: [exits(1), exits(1), exits(0, done)] }).runs).toHaveLength(3);
    expect(play(conductor(2), { runs: [exits(1)] }).outcome?.type).toBe('iterations-exhausted');
    const stop = { type: 'stop', now: true, by: 'person' } as const;
    expect(play(conductor(2), { runs: [hangs()] }, [{ atMs: 500, control: stop }]).outcome?.type).toBe(
      'stopped',
    );
    const fatal: RunEnding = {
      how: 'not-started',
      error: { kind: 'invalid-configuration', message: 'no key' },
    };
    expect(play(conductor(2), { runs: [exits(1, { ending: fatal })] }).outcome?.type).toBe('bad-input');
    expect(play(conductor(3), { runs: [exits(0)] }).waits).toEqual([1000, 1000, 1000]);
    expect(presets.conductor.policy.limits.iterations).toBe(100);
    expect(presets.conductor.policy.timeouts.runMs).toBe(300_000);
    expect(presets.conductor.policy.children).toEqual({ waitMs: 300_000, pollMs: 1000 });
  });
});
