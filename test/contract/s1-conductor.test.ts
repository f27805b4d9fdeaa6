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

describe('the loop', () => {
  it('S1.1 runs one agent at a time until DONE, the limit or a cancellation', () => {
    const loop = play(conductor(10), { runs: [exits(0), exits(1), exits(0, done)] });
    expect(loop.runs).toEqual(['1.1', '2.1', '3.1']);
    expect(loop.outcome).toMatchObject({ type: 'done' });
    const turns = types(loop).filter((type) => type === 'run.planned' || type === 'run.ended');
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

  it('S1.2 overrides the defaults of the document with the options, and names an invalid option', () => {
    expect(resolvePolicy({ preset: 'conductor', delay: { afterOkMs: -1 } })).toEqual({
      ok: false,
      problems: [{ field: 'delay.afterOkMs', expected: 'a whole number >= 0', got: '-1' }],
    });
    expect(resolvePolicy({ preset: 'conductor', limits: { iterations: 3 } })).toMatchObject({
      ok: true,
      policy: { limits: { iterations: 3 }, delay: { afterOkMs: 1000 } },
    });
  });

  it('S1.6 S1.7 numbers every attempt; an exit with 0 is not an error, and a successful loop exits with 0', () => {
    const loop = play(conductor(3), { runs: [exits(1), exits(0, done)] });
    const attempts = loop.journal.flatMap((event) =>
      event.type === 'iteration.started' ? [event.iteration - 1] : [],
    );
    expect(attempts).toEqual([0, 1]);
    expect(loop.state.failures.total).toBe(1);
    expect(loop.exitCode).toBe(0);
  });
});

describe('the order of one turn', () => {
  it('S1.8 looks for a cancellation, DONE and the limit, runs and counts, looks for DONE again and waits', () => {
    const loop = play(conductor(1), { runs: [exits(0)] });
    expect(types(loop)).toEqual([
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

  it('S1.9 ends the loop as cancelled, not as done, when both are true', () => {
    const stop = { type: 'stop', now: true, by: 'person' } as const;
    const loop = play(conductor(5), { world: (world) => (world.doneFile = true) }, [
      { after: nth('loop.created'), control: stop },
    ]);
    expect(loop.outcome).toEqual({ type: 'stopped', by: 'person' });
    expect(loop.runs).toEqual([]);
  });

  it('S1.10 prefers DONE to the limit, even if the limit is 0', () => {
    expect(play(conductor(0), { world: (world) => (world.doneFile = true) }).outcome).toMatchObject({
      type: 'done',
    });
  });

  it('S1.11 allows exactly N runs, and none for a limit of 0', () => {
    expect(play(conductor(3), { runs: [exits(0)] }).runs).toHaveLength(3);
    const none = play(conductor(0), {});
    expect(none.runs).toEqual([]);
    expect(none.outcome).toEqual({ type: 'iterations-exhausted', limit: 0 });
  });

  it.each([0, 1, 2, 126, 127, 143, 255])('S1.12 continues after exit code %i', (code) => {
    const loop = play(conductor(2), { runs: [exits(code), exits(0, done)] });
    expect(loop.runs).toEqual(['1.1', '2.1']);
  });

  it('S1.13 records a failed attempt with its cause and continues', () => {
    const loop = play(conductor(2), { runs: [exits(7)] });
    expect(loop.state.failures).toEqual({ consecutive: 2, total: 2 });
    expect(loop.state.feedback.error).toBe('agent exited with code 7');
  });

  it('S1.14 has no other ending: twenty consecutive failures do not end the loop', () => {
    const loop = play(conductor(20), { runs: [exits(1)] });
    expect(loop.runs).toHaveLength(20);
    expect(loop.outcome?.type).toBe('iterations-exhausted');
  });

  it('S1.15 waits after every attempt, failed or not, but not after DONE', () => {
    const loop = play(conductor(9), { runs: [exits(0), exits(1), exits(0, done)] });
    expect(loop.waits).toEqual([1000, 1000]);
  });

  it('S1.16 waits once more after the last permitted attempt, then reports the limit', () => {
    const loop = play(conductor(2), { runs: [exits(0)] });
    expect(loop.waits).toEqual([1000, 1000]);
    expect(types(loop).slice(-3)).toEqual(['timer.fired', 'probe.finished', 'loop.ended']);
  });

  it('S1.17 ends the wait at once when the loop is cancelled', () => {
    const loop = play({ ...conductor(9), delay: { afterOkMs: 10_000 } }, { runs: [exits(0)] }, [
      { atMs: 5000, control: { type: 'stop', now: true, by: 'person' } },
    ]);
    expect(loop.waits).toEqual([10_000]);
    expect(loop.outcome).toEqual({ type: 'stopped', by: 'person' });
    expect(loop.world.clock).toBe(1_000_000 + 5000);
    expect(loop.runs).toEqual(['1.1']);
  });

  it('S1.18 finds a DONE file that was created during the wait, and starts no other agent', () => {
    const loop = play(conductor(9), { runs: [exits(0)] }, [
      { after: nth('timer.fired'), world: (world) => (world.doneFile = true) },
    ]);
    expect(loop.outcome?.type).toBe('done');
    expect(loop.runs).toEqual(['1.1']);
  });
});

describe('the DONE marker', () => {
  it('S1.19 S1.20 is a file called DONE, and only its existence counts', () => {
    const loop = play(conductor(2), { runs: [exits(0, done)] });
    expect(loop.started.filter(({ type }) => type === 'probe')).toMatchObject([
      { markers: ['DONE'] },
      { phase: 'after' },
    ]);
    expect(loop.journal.find(({ type }) => type === 'claim.made')).toMatchObject({
      claim: { by: 'marker', text: 'DONE' },
    });
  });

  it('S1.21 S1.22 ends the loop with an error if it is a directory or unreadable', () => {
    for (const problem of ['DONE is a directory', 'stat DONE: permission denied']) {
      const loop = play(conductor(2), { problem });
      expect(loop.outcome).toEqual({ type: 'fatal', message: problem });
      expect(loop.runs).toEqual([]);
    }
  });

  it('S1.22 means not done if it is missing', () => {
    expect(play(conductor(1), { runs: [exits(0)] }).outcome?.type).toBe('iterations-exhausted');
  });

  it('S1.23 makes the loop wait for running children up to a limit, start nothing more, and succeed', () => {
    const startsChild = {
      after: nth('run.started'),
      event: { type: 'child.started', child: 'kid' },
    } as const;
    const loop = play(conductor(2), { runs: [exits(0, done)] }, [
      startsChild,
      { atMs: 60_000, event: { type: 'child.ended', child: 'kid' } },
    ]);
    expect(loop.world.clock).toBe(1_000_000 + 60_000);
    expect(loop.outcome).toEqual({ type: 'done', verified: false, childrenLeft: [] });

    const waited = play(conductor(2), { runs: [exits(0, done)] }, [
      { ...startsChild, after: nth('run.started') },
    ]);
    expect(waited.started.at(-1)).toMatchObject({ type: 'children', children: ['kid'], pollMs: 1000 });
    expect(waited.outcome).toEqual({ type: 'done', verified: false, childrenLeft: ['kid'] });
    expect(waited.world.clock).toBeGreaterThanOrEqual(1_000_000 + 300_000);
    expect(waited.runs).toEqual(['1.1']);
  });

  it('S1.52 means success if children outlast the wait, and a cancellation of the wait cancels the loop', () => {
    const stop = { atMs: 60_000, control: { type: 'stop', now: true, by: 'person' } } as const;
    const waits = (...more: readonly (typeof stop)[]) =>
      play(conductor(2), { runs: [exits(0, done)] }, [
        { after: nth('run.started'), event: { type: 'child.started', child: 'kid' } },
        ...more,
      ]).outcome;
    expect(waits()).toMatchObject({ type: 'done', childrenLeft: ['kid'] });
    expect(waits(stop)).toEqual({ type: 'stopped', by: 'person' });
  });

  it('S1.26 means success without any run if it exists before the loop', () => {
    const loop = play(conductor(5), { world: (world) => (world.doneFile = true) });
    expect(loop.runs).toEqual([]);
    expect(loop.outcome?.type).toBe('done');
    expect(loop.exitCode).toBe(0);
  });

  it('S1.27 overrides the exit code of the attempt that created it', () => {
    const loop = play(conductor(5), { runs: [exits(1, done)] });
    expect(loop.runs).toEqual(['1.1']);
    expect(loop.outcome?.type).toBe('done');
  });
});

describe('other endings', () => {
  it('S1.29 reports `max restarts exceeded` and exits with 1', () => {
    const loop = play(conductor(2), { runs: [exits(1)] });
    expect(message(loop)).toBe('max restarts exceeded');
    expect(loop.exitCode).toBe(1);
  });

  it('S1.30 distinguishes a cancellation from a deadline', () => {
    const stopped = (by: 'person' | 'deadline') =>
      play(conductor(5), { runs: [hangs()] }, [
        { after: nth('run.started'), control: { type: 'stop', now: true, by } },
      ]);
    expect(message(stopped('person'))).toBe('cancelled by a person');
    expect(message(stopped('deadline'))).toBe('deadline exceeded');
  });

  it('S1.39 fails a run after five minutes with `agent timeout` and retries within the limit', () => {
    const loop = play(conductor(2), { runs: [hangs(), exits(0, done)] });
    expect(loop.journal.find(({ type }) => type === 'run.ended')).toMatchObject({
      at: 1_000_000 + 300_000 + 1,
      ending: { how: 'timed-out', which: 'wall' },
    });
    expect(loop.state.failures.total).toBe(1);
    expect(loop.runs).toEqual(['1.1', '2.1']);
    const once = play(conductor(1), { runs: [hangs()] });
    expect(once.state.feedback.error).toBe('agent timeout');
  });

  it.each([
    ['exit code 42', exits(42)],
    ['a bus message', exits(0, { leaves: { message: 'wait_without_restart' } })],
    ['a file', exits(0, { leaves: { wait: true } })],
  ])('S1.41 S1.42 ends without a restart and without an error on %s', (_, run) => {
    const loop = play(conductor(5), { runs: [run] });
    expect(loop.outcome).toEqual({ type: 'waiting' });
    expect(loop.runs).toEqual(['1.1']);
    expect(loop.exitCode).toBe(0);
  });

  it('prefers DONE to a hand-over in the same run', () => {
    expect(play(conductor(5), { runs: [exits(42, done)] }).outcome?.type).toBe('done');
  });

  it.each([
    ['other', 'iterations-exhausted'],
    ['authentication', 'fatal'],
    ['command-not-found', 'bad-input'],
    ['not-executable', 'bad-input'],
    ['invalid-configuration', 'bad-input'],
  ] as const)('S1.44 classifies the error kind %s: the outcome is %s', (kind, outcome) => {
    const ending: RunEnding =
      kind === 'authentication'
        ? { how: 'exited', code: 1, error: { kind, message: 'no' } }
        : { how: 'not-started', error: { kind, message: 'no' } };
    expect(play(conductor(2), { runs: [exits(1, { ending })] }).outcome?.type).toBe(outcome);
  });

  it('S1.44 restarts the agent after a transient error, without charging the iteration', () => {
    const ending: RunEnding = { how: 'exited', code: 1, error: { kind: 'transient', message: '529' } };
    const { outcome, runs } = play(conductor(1), { runs: [exits(1, { ending }), exits(0, done)] });
    expect(outcome?.type).toBe('done');
    expect(runs).toEqual(['1.1', '1.2']);
  });

  it('S1.44 treats a missing program as fatal, not as bad input, once an agent has run', () => {
    const ending: RunEnding = { how: 'not-started', error: { kind: 'command-not-found', message: 'gone' } };
    expect(play(conductor(3), { runs: [exits(0), exits(0, { ending })] }).outcome).toEqual({
      type: 'fatal',
      message: 'gone',
    });
  });

  it('S1.45 treats an error as fatal only if a retry cannot help', () => {
    expect(
      (['command-not-found', 'not-executable', 'permission-denied', 'invalid-configuration'] as const).every(
        isFatal,
      ),
    ).toBe(true);
    expect((['transient', 'other'] as const).some(isFatal)).toBe(false);
    expect(play(conductor(3), { runs: [exits(127)] }).runs).toHaveLength(3);
  });

  it('S1.48 handles the named cases: immediate and late success, limit, cancel, fatal error, delay', () => {
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
