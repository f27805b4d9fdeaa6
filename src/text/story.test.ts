import { describe, expect, it } from 'vitest';
import type { Happening, LoopEvent } from '../loop/event.ts';
import { presets } from '../loop/presets.ts';
import { learn, NOTHING_KNOWN } from '../loop/report.ts';
import { NO_OUTPUT } from '../loop/run.ts';
import { endRecord } from '../projections/end-record.ts';
import type { Spec } from '../home/spec.ts';
import { entriesFor, type StoryEntry } from './story.ts';

const START = new Date(2024, 0, 15, 22, 0, 0).getTime();
const HOUR = 3600;

const spec: Spec = {
  version: 1,
  id: 'night-1',
  name: 'night',
  workspace: '/home/dev/shop',
  created: '',
  agent: { kind: 'claude', argv: ['claude'], model: 'opus' },
  prompt: { text: 'work' },
  parent: null,
};
const policy = {
  ...presets.default.policy,
  completion: { ...presets.default.policy.completion, until: 'both' as const },
  checks: {
    ...presets.default.policy.checks,
    commands: [{ command: 'npm test', action: 'APPEND', hint: null } as const],
  },
};
const created: Happening = { type: 'loop.created', name: 'night', policy };

/** The story of these events; a number is the time of the next ones, in seconds after the start. */
function storyOf(events: readonly (Happening | number)[], isVerbose = false): readonly StoryEntry[] {
  let known = NOTHING_KNOWN;
  let at = START;
  return events.flatMap((happening) => {
    if (typeof happening === 'number') {
      at = START + happening * 1000;
      return [];
    }
    const event: LoopEvent = { ...happening, at };
    const before = known;
    known = learn(before, event);
    return entriesFor(event, before, known, { spec, isVerbose, endRecord });
  });
}

const texts = (events: readonly (Happening | number)[]): readonly string[] =>
  storyOf([created, ...events])
    .slice(1)
    .map(({ text }) => text);

const started: Happening = { type: 'iteration.started', iteration: 1 };
const planned = (run: string, purpose: 'work' | 'commit-message' = 'work'): Happening => ({
  type: 'run.planned',
  run,
  purpose,
  guidance: [],
  prompt: null,
});
const output = (
  run: string,
  usd: number | null,
  limit: { resetsAt: number; message: string } | null = null,
): Happening => ({
  type: 'run.output',
  run,
  ...NO_OUTPUT,
  cost: usd === null ? null : { usd, source: 'reported' },
  limit,
});
const exited = (run: string): Happening => ({
  type: 'run.ended',
  run,
  ending: { how: 'exited', code: 0, error: null },
  as: 'ok',
  jitter: 0,
});
const checked = (code: number): readonly Happening[] => [
  { type: 'checks.started', iteration: 1, run: '1.1' },
  {
    type: 'check.finished',
    iteration: 1,
    run: '1.1',
    index: 0,
    command: 'npm test',
    result: { code, timedOut: false, durationMs: 4200, log: 'test.log' },
  },
];
const claimed: Happening = {
  type: 'claim.made',
  iteration: 1,
  run: '1.1',
  claim: { by: 'promise-tag', text: '<promise>DONE</promise>' },
};

describe('the story of a loop', () => {
  it('tells agent, preset, limits and checks at the start', () => {
    expect(storyOf([created])).toEqual([
      {
        at: START,
        type: 'loop.created',
        iteration: null,
        text: 'loop night created: agent claude, model opus, preset default, at most 10 iterations, check npm test',
      },
    ]);
  });

  it('tells an iteration from its start to the verdict on the claim, with its cost', () => {
    const night = [started, planned('1.1'), 725, output('1.1', 0.25), exited('1.1'), ...checked(1), claimed];
    const rejected: Happening = { type: 'claim.rejected', iteration: 1, run: '1.1', failed: ['npm test'] };
    const commit: Happening = {
      type: 'commit.made',
      iteration: 1,
      commit: '0123456789',
      done: ['commit', 'push'],
      error: null,
      subject: 'Fix the cart',
      files: 2,
    };
    expect(texts([...night, rejected, commit])).toEqual([
      'starting iteration 1/10',
      'iteration 1 completed (exit: 0, duration: 12m 5s), cost: $0.2500',
      'check failed: npm test (exit 1, 4.2s) — test.log',
      'the agent claims to be done (promise-tag: <promise>DONE</promise>)',
      'claim rejected: the agent says it is done, but 1 check fails: npm test',
      'committed 0123456: Fix the cart (2 files)',
      'SCM tasks done: push',
    ]);
    expect(storyOf([created, ...night]).find(({ type }) => type === 'run.ended')).toMatchObject({
      iteration: 1,
      durationMs: 725_000,
      costUsd: 0.25,
    });
  });

  it('tells what each run has cost by itself, in the text and for programs', () => {
    const outage: Happening = {
      type: 'run.ended',
      run: '1.1',
      ending: { how: 'exited', code: 1, error: { kind: 'transient', message: '503' } },
      as: 'outage',
      jitter: 0,
    };
    const work = [planned('1.2'), output('1.2', 0.5), exited('1.2'), ...checked(0)];
    const asked = planned('1.3', 'commit-message');
    const night = [started, planned('1.1'), output('1.1', 0.25), outage, ...work, asked];
    const ended = storyOf([created, ...night, output('1.3', 0.01), exited('1.3')]).filter(
      ({ type, text }) => type === 'run.ended' && text.includes('cost'),
    );
    expect(ended.map(({ text }) => text.replace(/.*cost: /, ''))).toEqual(['$0.2500', '$0.5000', '$0.0100']);
    expect(ended.map(({ costUsd }) => costUsd)).toEqual([0.25, 0.5, 0.01]);
  });

  it('tells that only a part of the cost of a run is known', () => {
    const cost = { usd: 0.25, source: 'estimated', isPartial: true } as const;
    const partly: Happening = { type: 'run.output', run: '1.1', ...NO_OUTPUT, cost };
    const [, ended] = storyOf([created, started, planned('1.1'), partly, exited('1.1')]).slice(1);
    expect(ended).toMatchObject({ costUsd: 0.25, costIsPartial: true });
    expect(ended?.text).toMatch(/cost: over \$0\.2500$/);
  });

  it('tells an unknown cost as unknown', () => {
    const [, ended] = texts([started, planned('1.1'), 1, exited('1.1')]);
    expect(ended).toBe('iteration 1 completed (exit: 0, duration: 1s), cost: unknown');
  });

  it('tells until when the loop waits for a usage limit, and how long it really waited', () => {
    const limit = { resetsAt: START + 7 * HOUR * 1000, message: 'resets at 5am' };
    const ended: Happening = {
      type: 'run.ended',
      run: '1.1',
      ending: { how: 'exited', code: 1, error: { kind: 'other', message: 'limit' } },
      as: 'usage-limit',
      jitter: 0,
    };
    const fired: Happening = { type: 'timer.fired', key: 'wait:1.1' };
    const night = [started, planned('1.1'), HOUR, output('1.1', null, limit), ended];
    const told = texts([...night, 7 * HOUR, fired, planned('1.2')]);
    expect(told.slice(1)).toEqual([
      'usage limit reached, waiting until 2024-01-16 05:00:00 (6h 0m); not counted as an iteration (resets at 5am), cost: unknown',
      'waited 6h 0m for the usage limit to reset',
      'starting iteration 1 again (run 1.2)',
    ]);
    const resumed: Happening = { type: 'control.received', id: 'a', control: { type: 'resume', now: true } };
    expect(texts([...night, 9 * HOUR, fired]).at(-1)).toBe(
      'waited 8h 0m instead of 6h 0m for the usage limit to reset; the loop was paused or had no process, or this machine slept',
    );
    expect(texts([...night, 2 * HOUR, resumed]).slice(-1)).toEqual(['resumed by a person without waiting']);
  });

  it('tells the waits after failures, and no wait of 0 s', () => {
    const failed: Happening = {
      type: 'run.ended',
      run: '1.1',
      ending: { how: 'timed-out', which: 'wall' },
      as: 'failure',
      jitter: 0,
    };
    const fired: Happening = { type: 'timer.fired', key: 'wait:1.1' };
    const probe: Happening = {
      type: 'probe.finished',
      key: 'probe:1.1:after',
      phase: 'after',
      markers: [],
      problem: null,
      messages: [],
      fingerprint: 'a',
    };
    const checkpoint: Happening = { type: 'checkpoint.taken', iteration: 1, ref: 'refs/1', error: null };
    const before: Happening = { ...probe, key: 'probe:1.1:before', phase: 'before' };
    const waited = texts([before, started, planned('1.1'), 60, failed, probe, checkpoint, 61, fired]);
    expect(waited.slice(1)).toEqual([
      'iteration 1 failed (agent timeout after 1m 0s) (attempt 1/5), cost: unknown',
      'waited 1s to retry',
    ]);
    const passed = [
      before,
      started,
      planned('1.1'),
      60,
      exited('1.1'),
      probe,
      ...checked(0),
      checkpoint,
      fired,
    ];
    expect(texts(passed).at(-2)).toBe('check passed: npm test (exit 0, 4.2s)');
  });

  it('tells a crash, and how long nothing drove the loop', () => {
    const owner: Happening = { type: 'owner.changed', owner: '77' };
    expect(texts([started, planned('1.1'), 3 * HOUR, owner]).at(-1)).toBe(
      'the loop crashed; process 77 took it over after 3h 0m: reattached to the agent of iteration 1/10',
    );
    const left: Happening = { type: 'owner.left' };
    expect(texts([started, planned('1.1'), left, HOUR, owner]).slice(-1)).toEqual([
      'process 77 took the loop over after 1h 0m without an owner: reattached to the agent of iteration 1/10',
    ]);
    const paused: Happening = { type: 'control.received', id: 'a', control: { type: 'pause' } };
    const resumed: Happening = { type: 'control.received', id: 'b', control: { type: 'resume', now: false } };
    expect(texts([paused, HOUR, owner, 2 * HOUR, resumed])).toEqual([
      'pausing after this iteration (requested by a person)',
      'process 77 took the loop over after 1h 0m of rest',
      'resumed by a person after 1h 0m of rest',
    ]);
  });

  it('tells what people asked for', () => {
    const by = (
      id: string,
      control: Extract<Happening, { type: 'control.received' }>['control'],
    ): Happening => ({
      type: 'control.received',
      id,
      control,
    });
    expect(
      texts([
        started,
        planned('1.1'),
        by('a', { type: 'tell', text: 'use sqlite\nplease' }),
        by('b', { type: 'set', limits: { iterations: 20 } }),
        by('c', { type: 'signal', signal: 'SIGINT' }),
        by('d', { type: 'stop', now: true, by: 'person' }),
      ]).slice(1),
    ).toEqual([
      'guidance from a person: use sqlite',
      'limits changed: at most 20 iterations, before: at most 10 iterations (ralph set, in iteration 1)',
      'received SIGINT, finishing the running step (press Ctrl-C again to stop it now)',
      'stopping now (requested by a person)',
    ]);
  });

  it('tells why a wait for a usage limit is longer than announced', () => {
    const limit = (resetsAt: number) => output('1.1', null, { resetsAt, message: 'soon' });
    const limited = (run: string, jitter: number): Happening => ({
      type: 'run.ended',
      run,
      ending: { how: 'exited', code: 1, error: null },
      as: 'usage-limit',
      jitter,
    });
    const first = [started, planned('1.1'), limit(START + 600_000), limited('1.1', 0.5)];
    expect(texts(first)[1]).toContain(
      '(10m 30s, 30s longer than announced: so that loops do not all retry at once); not counted',
    );
    const again = [630, { type: 'timer.fired', key: 'wait:1.1' } as const, planned('1.2')];
    const soon = output('1.2', null, { resetsAt: START + 640_000, message: 'soon' });
    expect(texts([...first, ...again, soon, limited('1.2', 0)]).at(-1)).toContain(
      '(1m 0s, 50s longer than announced: the limit was reached 2 times in a row); not counted',
    );
    const shared: Happening = {
      type: 'limit.shared',
      resetsAt: START + 600_000,
      message: 'busy',
      jitter: 0.5,
    };
    expect(texts([shared])[0]).toContain(
      ', 30s longer than announced: so that loops do not all retry at once',
    );
  });

  it('announces no retry after the last run that the provider did not answer', () => {
    const silence = { how: 'timed-out', which: 'inactivity', unanswered: true } as const;
    const runs = [1, 2, 3, 4, 5].flatMap((run): (Happening | number)[] => [
      planned(`1.${run}`),
      { type: 'run.ended', run: `1.${run}`, ending: silence, as: 'outage', jitter: 0 },
      100 * run,
      { type: 'timer.fired', key: `wait:1.${run}` },
    ]);
    const ends = texts([started, ...runs.slice(0, -2)]).filter((text) => text.startsWith('provider'));
    const line = 'provider unavailable (agent timeout: the provider did not answer)';
    expect(ends[3]).toContain(`${line}, retrying in 8s; not counted`);
    expect(ends[4]).toContain(`${line}; not counted`);
  });

  it('tells once why a loop that too many failures ended has ended, with the advice', () => {
    const told = texts([
      started,
      {
        type: 'loop.ended',
        outcome: { type: 'failures-exhausted', failures: 5, outages: true, unanswered: true },
      },
    ]).filter((text) => text.includes('did not answer'));
    expect(told).toHaveLength(1);
    expect(told[0]).toMatch(
      /^ended after .*: the provider did not answer 5 runs in a row, .*; check that .* \(exit code 1\)$/,
    );
  });

  it('tells limits of other loops, changed settings, child loops and the end with its exit code', () => {
    expect(
      texts([
        { type: 'limit.shared', resetsAt: START + HOUR * 1000, message: 'busy', jitter: 0 },
        { type: 'policy.changed', policy: { ...policy, limits: { ...policy.limits, iterations: 3 } } },
        { type: 'child.started', child: 'child-0a1b2c3d' },
        { type: 'child.ended', child: 'child-0a1b2c3d' },
        HOUR,
        { type: 'loop.ended', outcome: { type: 'stopped', by: 'person' } },
        2 * HOUR,
        { type: 'loop.reopened', policy: null },
      ]),
    ).toEqual([
      'another loop of this account hit the usage limit (busy), waiting until 23:00:00',
      'settings changed: at most 3 iterations',
      'the agent started a child loop: child',
      'child loop ended: child',
      'ended after 1h 0m: cancelled by a person (exit code 130)',
      'resumed after iteration 0/3',
    ]);
  });

  it('tells checkpoints and processes with --verbose only', () => {
    const night: readonly (Happening | number)[] = [
      created,
      started,
      planned('1.1'),
      { type: 'run.started', run: '1.1', receipt: { pid: 5, startTime: '', bootId: '', pidNamespace: '' } },
      { type: 'checkpoint.taken', iteration: 1, ref: 'refs/ralph/night-1/1', error: null },
    ];
    expect(storyOf(night)).toHaveLength(2);
    expect(
      storyOf(night, true)
        .slice(2)
        .map(({ text }) => text),
    ).toEqual(['agent started (process 5)', 'checkpoint of iteration 1: refs/ralph/night-1/1']);
  });

  it('has no line breaks and no keys', () => {
    const tell: Happening = {
      type: 'control.received',
      id: 'a',
      control: { type: 'tell', text: 'use sk-live-0123456789abcdef\nnow' },
    };
    const [told] = texts([tell]);
    expect(told).toBe('guidance from a person: use <redacted>');
  });
});
