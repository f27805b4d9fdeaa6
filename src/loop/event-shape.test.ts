import { describe, expect, it } from 'vitest';
import { isEvent } from './event-shape.ts';
import { PRESET_NAMES } from './policy.ts';
import { presets } from './presets.ts';

const created = (policy: unknown): unknown => ({ type: 'loop.created', name: 'l', policy, at: 1 });
const { policy } = presets.default;

describe('the policy in an event', () => {
  it.each(PRESET_NAMES)('can be that of the preset %s', (preset) => {
    expect(isEvent(created(presets[preset].policy))).toBe(true);
  });

  it.each([
    { commit: { command: 'git commit', tasks: ['git push'], message: 'agent', timeoutMs: 1000 } },
    { children: { waitMs: 1, pollMs: 1 } },
    { sandbox: { checks: true, write: ['~/.cache'], hide: [], network: false } },
    { limits: { ...policy.limits, unchanged: { nudge: 2, end: 4 }, costUsd: 1.5, timeMs: 1, tokens: 1 } },
    { delay: { ...policy.delay, afterFailure: { kind: 'fixed', ms: 5 } } },
    { evidence: { protect: ['test/**'], onProtectedChange: 'restore', promptFile: 'always' } },
    { aLaterVersion: { knows: 'more' } },
  ])('can have %j', (change) => {
    expect(isEvent(created({ ...policy, ...change }))).toBe(true);
  });

  it.each([
    { limits: null },
    { timeouts: [] },
    { completion: { ...policy.completion, detectors: {} } },
    { completion: { ...policy.completion, detectors: [{ kind: 'marker', file: 'DONE', phases: 7 }] } },
    { checks: { ...policy.checks, commands: ['npm test'] } },
    { sandbox: 'yes' },
    { commit: {} },
  ])('cannot have %j', (change) => {
    expect(isEvent(created({ ...policy, ...change }))).toBe(false);
  });
});
