import * as fc from 'fast-check';
import type { Outcome } from '../../src/loop/outcome.ts';
import type { Control, RunEnding } from '../../src/loop/event.ts';
import { PRESET_NAMES, type Policy, type PresetName } from '../../src/loop/policy.ts';
import { presets } from '../../src/loop/presets.ts';
import { claims, exits, hangs, limited, type RunScript } from '../rig/world.ts';

/** Everything in which two histories can differ; plain data, so that fast-check can shrink it. */
export interface Scenario {
  readonly policy: Policy;
  readonly runs: readonly RunScript[];
  readonly checks: readonly (number | null)[];
  /** What there is to commit. */
  readonly changes: readonly ('some' | 'none' | 'committed' | 'stuck')[];
  /** Whether the loop's start is recorded, and whether protected files cannot be put back. */
  readonly isWatched: boolean;
  /** Whether the prompt is a file of the repository. */
  readonly hasPromptFile: boolean;
  readonly stubborn: boolean;
  /** Whether checks and commits write files. */
  readonly litters: boolean;
  readonly operator: readonly {
    readonly after: number;
    readonly control: Control;
    readonly twice: boolean;
  }[];
  /** Controls at a time after the beginning, whatever is in progress then. */
  readonly timed: readonly { readonly atMs: number; readonly control: Control }[];
  /** After which event the driver gives up, as with a full disk. */
  readonly abortsAfter: number | null;
  /** After which event the policy changes, and to which: another one, or the same with other checks. */
  readonly change: { readonly after: number; readonly policy: Policy | 'other checks' } | null;
  /** After which event a person creates the DONE file. */
  readonly touches: number | null;
  /** Child loops: after which event each starts, after which it ends and how, and after which it is resumed. */
  readonly children: readonly {
    readonly born: number;
    readonly ends: number;
    readonly again: number | null;
    /** Null if it crashes. */
    readonly outcome: Outcome | null;
    /** Whether the owner sees it at once, and not only at the end of a run. */
    readonly isSeen: boolean;
  }[];
  /** After which event an agent asks a question, and when its default applies. */
  readonly questions: readonly { readonly after: number; readonly timeoutMs: number | null }[];
  readonly crashesAfter: 'every event' | readonly number[];
  readonly crashesBefore: readonly number[];
  readonly downtimeMs: number;
  readonly repeats: readonly number[];
  readonly staleTimers: readonly number[];
  readonly lateAnswers: readonly { readonly after: number; readonly event: number }[];
  readonly reopens: number;
}

const ms = fc.constantFrom(0, 1, 40, 1000, 90_000);
const spend = fc.record({
  cost: fc.constantFrom(
    null,
    { usd: 0.05, source: 'reported' } as const,
    { usd: 0.3, source: 'estimated' } as const,
  ),
  tokens: fc.constantFrom(null, { input: 10, output: 5, cacheRead: 80, cacheWrite: 5 }),
  steps: fc.nat({ max: 3 }),
});
const fatalEnding: RunEnding = {
  how: 'exited',
  code: 1,
  error: { kind: 'authentication', message: 'no' },
};
const outageEnding: RunEnding = { how: 'exited', code: 1, error: { kind: 'transient', message: '529' } };
const refusedEnding: RunEnding = {
  how: 'exited',
  code: 1,
  error: { kind: 'request-refused', message: 'too long' },
};
const failedEnding: RunEnding = { how: 'exited', code: 1, error: null };
const goneEnding: RunEnding = { how: 'not-started', error: { kind: 'command-not-found', message: 'gone' } };
const floodEnding: RunEnding = { how: 'timed-out', which: 'output' };
const silentEnding: RunEnding = { how: 'timed-out', which: 'inactivity' };

/** An agent that works, makes true or false claims, crashes, hangs, floods, falls silent or hits a limit. */
const run: fc.Arbitrary<RunScript> = fc
  .record({
    kind: fc.constantFrom(
      'works',
      'works',
      'claims',
      'claims',
      'done file',
      'crashes',
      'crashes',
      'hangs',
      'floods',
      'silent',
      'limited',
      'asks',
      'asks by file',
      'asks by message',
      'limited and silent',
      'fatal',
      'outage',
      'refused',
      'failed claim',
      'failed done file',
      'outage with done file',
      'gone',
      'unknown',
    ),
    ms,
    output: spend,
    change: fc.boolean(),
    tampers: fc.constantFrom(undefined, undefined, undefined, true, false),
    early: fc.boolean(),
    resetsInMs: fc.constantFrom(null, -500, 2000, 600_000),
  })
  .map(({ kind, ms: length, output, change, tampers, early, resetsInMs }): RunScript => {
    const left = { change, ...(tampers === undefined ? {} : { tampers }) };
    const more = { ms: length, output, leaves: left };
    switch (kind) {
      case 'claims':
        return claims({ ...more, output: { ...output, claimEndsRun: early } });
      case 'done file':
        return exits(0, { ...more, leaves: { ...left, done: true } });
      case 'crashes':
        return exits(1, more);
      case 'hangs':
        return hangs({ output });
      case 'floods':
        return exits(0, { ...more, ending: floodEnding });
      case 'silent':
        return exits(0, { ...more, ending: silentEnding });
      case 'limited':
        return limited(resetsInMs, more);
      case 'asks':
        return exits(42, more);
      case 'asks by file':
        return exits(0, { ...more, leaves: { ...left, wait: true } });
      case 'asks by message':
        return exits(0, { ...more, leaves: { ...left, message: 'wait_without_restart' } });
      case 'limited and silent':
        return limited(resetsInMs, { ...more, ending: silentEnding });
      case 'fatal':
        return exits(1, { ...more, ending: fatalEnding });
      case 'outage':
        return exits(1, { ...more, ending: outageEnding });
      case 'refused':
        return exits(1, { ...more, ending: refusedEnding });
      case 'failed claim':
        return claims({ ...more, ending: failedEnding });
      case 'failed done file':
        return exits(1, { ...more, leaves: { ...left, done: true } });
      case 'outage with done file':
        return exits(1, { ...more, ending: outageEnding, leaves: { ...left, done: true } });
      case 'gone':
        return exits(1, { ...more, ending: goneEnding });
      case 'unknown':
        return exits(null, more);
      case 'works':
        return exits(0, more);
    }
  });

const control: fc.Arbitrary<Control> = fc.constantFrom<Control>(
  { type: 'pause' },
  { type: 'pause' },
  { type: 'resume', now: false },
  { type: 'resume', now: true },
  { type: 'stop', now: false, by: 'person' },
  { type: 'stop', now: true, by: 'deadline' },
  { type: 'signal', signal: 'SIGINT' },
  { type: 'signal', signal: 'SIGTERM' },
  { type: 'tell', text: 'try harder' },
  { type: 'answer', question: null, text: 'yes' },
  { type: 'answer', question: 'MSG-1', text: 'no' },
  { type: 'set', limits: { iterations: 2 } },
  { type: 'set', limits: { costUsd: 0.2 } },
);

/** A policy of one of these presets, with limits that short histories reach. */
export const policyOf = (names: readonly PresetName[]): fc.Arbitrary<Policy> =>
  fc
    .record({
      preset: fc.constantFrom(...names),
      iterations: fc.integer({ min: 1, max: 5 }),
      commands: fc.integer({ min: 0, max: 2 }),
      until: fc.constantFrom('both', 'checks', 'claim'),
      costUsd: fc.constantFrom(null, null, 0.1, 0.5),
      tokens: fc.constantFrom(null, null, 150, 240),
      timeMs: fc.constantFrom(null, null, 5000, 200_000),
      failures: fc.constantFrom(null, 2, 5),
      limitWaits: fc.constantFrom(null, null, 0, 1),
      unchanged: fc.constantFrom(null, { nudge: 1, end: 2 }, { nudge: 3, end: 5 }),
      stopRunning: fc.boolean(),
      commit: fc.constantFrom(null, null, 'agent', 'plain'),
      checkpoint: fc.boolean(),
      baseline: fc.boolean(),
      afterFailure: fc.constantFrom('consider', 'checks', 'checks', 'ignore'),
      onProtectedChange: fc.constantFrom(null, null, 'warn', 'reject', 'restore'),
      plan: fc.constantFrom(null, null, { file: 'PLAN.md' }),
    })
    .map(({ preset, commands, until, commit: message, checkpoint, baseline, afterFailure, ...more }) => {
      const { onProtectedChange, plan, ...limits } = more;
      const count = preset === 'architect' || until === 'checks' ? Math.max(1, commands) : commands;
      // Built by hand: `admits` validates it anyway, and validating it here too would take time.
      const base = presets[preset].policy;
      const checks = ['lint', 'test']
        .slice(0, count)
        .map((command) => ({ command, action: 'APPEND', hint: null }) as const);
      return {
        ...base,
        completion: { ...base.completion, until, afterFailure },
        checks: { ...base.checks, commands: checks, baseline },
        plan,
        evidence:
          onProtectedChange === null
            ? base.evidence
            : { ...base.evidence, protect: ['check.sh'], onProtectedChange },
        limits: { ...base.limits, ...limits },
        timeouts: { ...base.timeouts, runMs: 100_000 },
        commit:
          message === null ? null : { command: 'git', tasks: ['commit', 'push'], message, timeoutMs: null },
        checkpoint,
      };
    });

const policy = policyOf(PRESET_NAMES);
const index = fc.integer({ min: 1, max: 70 });
const indexes = (max: number): fc.Arbitrary<number[]> => fc.array(index, { maxLength: max });

export const scenario: fc.Arbitrary<Scenario> = fc.record({
  policy,
  // The last one repeats forever, so it must succeed; otherwise the history might not end.
  runs: fc.array(run, { maxLength: 6 }).map((runs) => [...runs, exits(0)]),
  checks: fc.array(fc.constantFrom(0, 0, 1, null), { minLength: 1, maxLength: 6 }),
  changes: fc.array(fc.constantFrom('some', 'some', 'none', 'committed', 'stuck'), {
    minLength: 1,
    maxLength: 4,
  }),
  isWatched: fc.constantFrom(true, true, true, false),
  hasPromptFile: fc.boolean(),
  stubborn: fc.constantFrom(false, false, false, true),
  litters: fc.boolean(),
  operator: fc.array(fc.record({ after: index, control, twice: fc.boolean() }), { maxLength: 4 }),
  timed: fc.array(fc.record({ atMs: fc.constantFrom(1, 20, 500, 1500, 61_000, 400_000), control }), {
    maxLength: 2,
  }),
  abortsAfter: fc.option(index, { freq: 4 }),
  change: fc.option(
    fc.record({ after: index, policy: fc.oneof(policy, fc.constant('other checks' as const)) }),
    { freq: 4 },
  ),
  touches: fc.option(index, { freq: 8 }),
  children: fc.array(
    fc.record({
      born: index,
      ends: index,
      again: fc.option(index),
      outcome: fc.constantFrom<Outcome | null>(
        { type: 'done', verified: false, childrenLeft: [] },
        { type: 'fatal', message: 'no space left' },
        null,
      ),
      isSeen: fc.boolean(),
    }),
    { maxLength: 3 },
  ),
  questions: fc.oneof(
    { weight: 2, arbitrary: fc.constant([]) },
    {
      weight: 1,
      arbitrary: fc.array(fc.record({ after: index, timeoutMs: fc.constantFrom(null, 1, 3000, 90_000) }), {
        minLength: 1,
        maxLength: 3,
      }),
    },
  ),
  crashesAfter: fc.oneof(
    { weight: 1, arbitrary: fc.constant('every event' as const) },
    { weight: 39, arbitrary: indexes(3) },
  ),
  crashesBefore: indexes(2),
  downtimeMs: ms,
  repeats: indexes(4),
  staleTimers: indexes(3),
  lateAnswers: fc.array(fc.record({ after: index, event: index }), { maxLength: 4 }),
  reopens: fc.integer({ min: 0, max: 2 }),
});
