import { describe, expect, it } from 'vitest';
import { DEFAULT_POLICY } from './default-policy.ts';
import { endedStatus, EXIT_CODES, explain, restOf, stopReason, type Outcome } from './outcome.ts';
import { presets } from './presets.ts';

const ONE_OF_EACH: { readonly [Type in Outcome['type']]: Extract<Outcome, { type: Type }> } = {
  done: { type: 'done', verified: true, childrenLeft: [] },
  waiting: { type: 'waiting' },
  'iterations-exhausted': { type: 'iterations-exhausted', limit: 10 },
  'time-exhausted': { type: 'time-exhausted', limitMs: 90_000 },
  'cost-exhausted': { type: 'cost-exhausted', limitUsd: 5, spentUsd: 5.25 },
  'tokens-exhausted': { type: 'tokens-exhausted', limit: 100, spent: 120 },
  'failures-exhausted': { type: 'failures-exhausted', failures: 5 },
  'limit-waits-exhausted': { type: 'limit-waits-exhausted', waits: 2, resetsAt: 3 * 3_600_000 },
  stuck: { type: 'stuck', unchanged: 5 },
  'prompt-lost': { type: 'prompt-lost', message: 'prompt file not found: p.md' },
  'bad-input': { type: 'bad-input', message: 'no such command: clod' },
  fatal: { type: 'fatal', message: 'authentication refused' },
  stopped: { type: 'stopped', by: 'signal' },
};

describe('outcomes', () => {
  it('have the default exit codes; a preset overrides only what its document states', () => {
    expect(EXIT_CODES).toEqual({
      done: 0,
      waiting: 4,
      paused: 4,
      'iterations-exhausted': 1,
      'time-exhausted': 1,
      'cost-exhausted': 1,
      'tokens-exhausted': 1,
      'failures-exhausted': 1,
      'limit-waits-exhausted': 1,
      stuck: 1,
      'prompt-lost': 2,
      'bad-input': 2,
      fatal: 3,
      stopped: 130,
      terminated: 143,
    });
    for (const [name, { policy }] of Object.entries(presets)) {
      const changed = Object.entries(policy.exitCodes).filter(([rest, code]) =>
        Object.entries(EXIT_CODES).every(([key, usual]) => key !== rest || usual !== code),
      );
      const stated: Readonly<Record<string, object>> = {
        default: {},
        conductor: { terminated: 130, waiting: 0 },
        swarm: { terminated: 130, 'iterations-exhausted': 0, paused: 0, 'prompt-lost': 1, 'bad-input': 1 },
      };
      expect(Object.fromEntries(changed)).toEqual(stated[name] ?? { terminated: 130 });
    }
  });

  it('exit with 0 only when done, except where a document says otherwise', () => {
    const successes = Object.entries(presets).map(([name, { policy }]) => [
      name,
      Object.entries(policy.exitCodes).flatMap(([rest, code]) =>
        code === 0 && rest !== 'done' ? [rest] : [],
      ),
    ]);
    expect(Object.fromEntries(successes)).toEqual({
      default: [],
      conductor: ['waiting'],
      'ralph-cli': [],
      architect: [],
      swarm: ['iterations-exhausted', 'paused'],
      promise: [],
    });
  });

  it('exit with 143 after SIGTERM and with 130 after any other stop', () => {
    const code = (outcome: Outcome) => EXIT_CODES[restOf(outcome)];
    expect(code({ type: 'stopped', by: 'signal', signal: 'SIGTERM' })).toBe(143);
    expect(code({ type: 'stopped', by: 'signal', signal: 'SIGINT' })).toBe(130);
    expect(code({ type: 'stopped', by: 'person' })).toBe(130);
  });

  it('name the signal, the reset after the time limit, and an unavailable provider', () => {
    const sentence = (outcome: Outcome) => explain(outcome, DEFAULT_POLICY);
    expect(sentence({ type: 'stopped', by: 'signal', signal: 'SIGTERM' })).toBe('cancelled by SIGTERM');
    expect(sentence({ type: 'time-exhausted', limitMs: 60_000, resetsAt: 3 * 3_600_000 })).toBe(
      'the usage limit resets at 03:00 UTC, after the time limit of 60 s',
    );
    expect(sentence({ type: 'time-exhausted', limitMs: 60_000, resetsAt: null })).toBe(
      'usage limit reached without a known reset, and the time limit of 60 s ends before the next retry',
    );
    expect(sentence({ type: 'failures-exhausted', failures: 300, outages: true })).toBe(
      'the provider was unavailable 300 times in a row',
    );
    expect(sentence({ type: 'failures-exhausted', failures: 5, outages: true, unanswered: true })).toBe(
      'the provider did not answer 5 runs in a row, each up to the inactivity timeout; check that the provider is up and reachable, or raise --inactivity-timeout if its model thinks for longer',
    );
    expect(sentence({ type: 'limit-waits-exhausted', waits: 1, resetsAt: null })).toBe(
      'usage limit reached; the loop has waited 1 time for one (--max-limit-waits)',
    );
    expect(sentence({ type: 'limit-waits-exhausted', waits: 0, resetsAt: 3 * 3_600_000 })).toBe(
      'usage limit reached, which resets at 03:00 UTC; the loop waits for none (--max-limit-waits)',
    );
    expect(sentence({ type: 'stuck', unchanged: 3, blocked: ['a', 'b'], moreBlocked: 2 })).toBe(
      'stuck: every open item of the plan is blocked after 3 iterations: a, b and 2 more',
    );
    expect(sentence({ type: 'stuck', unchanged: 1 })).toBe('stuck: 1 consecutive iteration without progress');
  });

  it('each have their own explanation, with their numbers', () => {
    const sentences = Object.values(ONE_OF_EACH).map((outcome) => explain(outcome, DEFAULT_POLICY));
    expect(new Set(sentences).size).toBe(sentences.length);
    expect(sentences).toContain('cost limit reached: $5.2500 of $5.0000');
    expect(sentences).toContain('time limit reached: 90 s');
    expect(explain({ ...ONE_OF_EACH.done, verified: false }, DEFAULT_POLICY)).toContain('unverified');
  });

  it('mention no claim if passed checks alone are enough', () => {
    const completion = { ...DEFAULT_POLICY.completion, until: 'checks' } as const;
    const sentences = Object.values(ONE_OF_EACH).map((outcome) =>
      explain(outcome, { ...DEFAULT_POLICY, completion }),
    );
    expect(sentences.filter((sentence) => sentence.includes('claim'))).toEqual([]);
    expect(sentences[0]).toBe('done: every check passed after the last run');
  });

  it('map to the status words of the documents', () => {
    const words = Object.values(ONE_OF_EACH).map((outcome) => [
      outcome.type,
      endedStatus(outcome),
      stopReason(outcome),
    ]);
    expect(words).toEqual([
      ['done', 'stopped', 'all_checks_passed'],
      ['waiting', 'stopped', null],
      ['iterations-exhausted', 'stopped', 'max_iterations'],
      ['time-exhausted', 'stopped', 'timeout'],
      ['cost-exhausted', 'stopped', 'budget_exhausted'],
      ['tokens-exhausted', 'stopped', 'budget_exhausted'],
      ['failures-exhausted', 'failed', null],
      ['limit-waits-exhausted', 'stopped', null],
      ['stuck', 'failed', null],
      ['prompt-lost', 'failed', null],
      ['bad-input', 'failed', null],
      ['fatal', 'failed', null],
      ['stopped', 'stopped', null],
    ]);
  });
});
