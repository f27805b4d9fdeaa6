import { describe, expect, it } from 'vitest';
import { PRESET_NAMES } from './policy.ts';
import { presets } from './presets.ts';
import { describeProblem, resolvePolicy, type PolicyInput } from './validate.ts';

const complaints = (input: PolicyInput): readonly string[] => {
  const resolution = resolvePolicy(input);
  return resolution.ok ? [] : resolution.problems.map(describeProblem);
};
const check = { command: 'npm test', action: 'APPEND', hint: null };
const detector = (more: object) => ({
  completion: { detectors: [{ scope: 'assistant-text', phase: 'after', history: 'loop', ...more }] },
});

describe('resolvePolicy', () => {
  it.each(PRESET_NAMES)('accepts the preset %s with its required values', (preset) => {
    const required = { architect: { checks: { commands: [check] } }, swarm: { limits: { iterations: 3 } } };
    expect(
      complaints({ preset, ...(preset === 'architect' || preset === 'swarm' ? required[preset] : {}) }),
    ).toEqual([]);
  });

  it('uses the default preset if none is named', () => {
    expect(resolvePolicy({})).toEqual({ ok: true, policy: presets.default.policy });
  });

  it('overrides single values: undefined changes nothing, null removes, lists replace', () => {
    const resolution = resolvePolicy({
      limits: { iterations: 3, failures: undefined, unchanged: null },
      checks: { commands: [check] },
    });
    expect(resolution).toMatchObject({
      ok: true,
      policy: { limits: { iterations: 3, failures: 5, unchanged: null, outputBytes: 2 ** 30 } },
    });
  });

  it('replaces an object that has a kind as a whole', () => {
    expect(resolvePolicy({ delay: { afterFailure: { kind: 'fixed', ms: 5 } } })).toMatchObject({
      ok: true,
      policy: { delay: { afterFailure: { kind: 'fixed', ms: 5 }, afterOkMs: 0 } },
    });
  });

  it('requires claim and checks for a loop with checks, unless `until` is set', () => {
    const until = (input: PolicyInput) => {
      const resolution = resolvePolicy(input);
      return resolution.ok ? resolution.policy.completion.until : null;
    };
    expect(until({})).toBe('claim');
    expect(until({ checks: { commands: [check] } })).toBe('both');
    expect(until({ checks: { commands: [check] }, completion: { until: 'claim' } })).toBe('claim');
    expect(until({ preset: 'swarm', limits: { iterations: 2 }, checks: { commands: [check] } })).toBe(
      'checks',
    );
  });

  it.each<[PolicyInput, string]>([
    [
      { preset: 'ralf' },
      'preset must be one of default, conductor, ralph-cli, architect, swarm, promise, got "ralf"',
    ],
    [{ limits: { iterations: 0 } }, 'limits.iterations must be a whole number >= 1, got 0'],
    [{ limits: { iterations: 2.5 } }, 'limits.iterations must be a whole number >= 0, got 2.5'],
    [{ limits: { iterations: -1 } }, 'limits.iterations must be a whole number >= 0, got -1'],
    [
      { preset: 'architect', checks: { commands: [check] }, limits: { iterations: 101 } },
      'limits.iterations must be a whole number >= 1 and <= 100, got 101',
    ],
    [
      { preset: 'swarm' },
      'limits.iterations is required and must be a whole number >= 1 (preset swarm has no default)',
    ],
    [{ limits: { timeMs: -5 } }, 'limits.timeMs must be a whole number >= 1, got -5'],
    [{ limits: { costUsd: 0 } }, 'limits.costUsd must be a number > 0, got 0'],
    [{ limits: { costUsd: Number.NaN } }, 'limits.costUsd must be a number > 0, got NaN'],
    [{ limits: { tokens: '1M' } }, 'limits.tokens must be a whole number >= 1, got "1M"'],
    [
      { limits: { unchanged: { nudge: 5, end: 5 } } },
      'limits.unchanged.end must be more than limits.unchanged.nudge (5), got 5',
    ],
    [
      { limits: { iteration: 3 } },
      'unknown field limits.iteration, expected one of iterations, timeMs, costUsd, tokens, failures, limitWaits, attemptsPerItem, outputBytes, unchanged, unchangedNotice, repeats, lookedAt, stopRunning',
    ],
    [{ timeouts: { killGraceMs: -1 } }, 'timeouts.killGraceMs must be a whole number >= 0, got -1'],
    [
      { delay: { afterFailure: { kind: 'linear' } } },
      'delay.afterFailure.kind must be one of fixed, backoff, got "linear"',
    ],
    [
      { checks: { commands: [{ ...check, action: 'IGNORE' }] } },
      'checks.commands[0].action must be one of APPEND, PREPEND, REPLACE, got "IGNORE"',
    ],
    [
      { checks: { commands: [check, { ...check, command: ' ' }] } },
      'checks.commands[1].command must be a non-blank string, got " "',
    ],
    [{ checks: { commands: 'npm test' } }, 'checks.commands must be a list, got "npm test"'],
    [{ completion: { until: 'green' } }, 'completion.until must be one of both, checks, claim, got "green"'],
    [
      { completion: { until: 'checks' } },
      'checks.commands is required and must be at least one shell command, such as "npm test" (until is "checks")',
    ],
    [
      detector({ kind: 'pattern', pattern: 'a(b' }),
      `completion.detectors[0].pattern must be a regular expression in Python's syntax, got "a(b": `,
    ],
    [
      detector({ kind: 'pattern', pattern: '' }),
      `completion.detectors[0].pattern must be a regular expression in Python's syntax, got ""`,
    ],
    [
      detector({ kind: 'tag' }),
      'completion.detectors[0].kind must be one of response-tag, promise-tag, word, pattern, marker, exit-code, bus-message, got "tag"',
    ],
    [
      detector({ kind: 'word', value: 'a\nb', within: 'word' }),
      'completion.detectors[0].value must be a single line of 1 to 1000 characters without surrounding whitespace, got "a\\nb"',
    ],
    [
      { completion: { detectors: [{ kind: 'exit-code', code: 256 }] } },
      'completion.detectors[0].code must be an exit code from 0 to 255, got 256',
    ],
    [{ delay: { usageLimitLadderMs: [] } }, 'delay.usageLimitLadderMs must be a non-empty list, got []'],
    [{ prompt: { sections: [] } }, 'prompt.sections must be a non-empty list, got []'],
    [{ signals: { SIGINT: 'ignore' } }, 'signals.SIGINT must be one of finish, pause, kill, got "ignore"'],
    [{ prompt: { sections: ['base', 'poem'] } }, 'prompt.sections[1] must be one of base, task, '],
    [{ exitCodes: { done: -1 } }, 'exitCodes.done must be an exit code from 0 to 255, got -1'],
    [{ limits: 'none' }, 'limits must be an object, got "none"'],
  ])('rejects %j', (input, complaint) => {
    expect(complaints(input)[0]).toContain(complaint);
    expect(complaints(input)).toHaveLength(1);
  });

  it('names the position of an error in a pattern', () => {
    expect(complaints(detector({ kind: 'pattern', pattern: 'ok[z-a]' }))[0]).toMatch(/at position 3$/);
  });

  it('reports all problems at once', () => {
    expect(complaints({ limits: { timeMs: -1, tokens: 0 }, host: 'moon' })).toHaveLength(3);
  });

  it('allows 0 iterations for conductor, as its document does', () => {
    expect(complaints({ preset: 'conductor', limits: { iterations: 0 } })).toEqual([]);
  });
});
