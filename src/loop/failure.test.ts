import { describe, expect, it } from 'vitest';
import { classify, failureText } from './failure.ts';
import type { ErrorKind, OutputSnapshot, RunClass } from './event.ts';
import { presets } from './presets.ts';
import { runWith } from '../../test/rig/run-with.ts';
import { PRESET_NAMES, type Policy } from './policy.ts';

/** The class of a run whose agent exited. */
function as(output: Partial<OutputSnapshot>, code: number, kind: ErrorKind | null = null): RunClass {
  return classifyExit(output, code, kind, presets.default.policy);
}

function classifyExit(
  output: Partial<OutputSnapshot>,
  code: number,
  kind: ErrorKind | null,
  policy: Policy,
): RunClass {
  const error = kind === null ? null : { kind, message: 'why' };
  return classify(runWith(output), { how: 'exited', code, error }, policy);
}

const claim = { by: 'promise-tag', text: '<promise>DONE</promise>' } as const;
const limit = { resetsAt: null, message: 'usage limit' };

describe('a run whose agent exited', () => {
  it('is classified by its reported result, and by its exit code only without a result and an error', () => {
    expect(as({ said: 'success' }, 1)).toBe('ok');
    expect(as({ said: 'error' }, 0)).toBe('failure');
    expect(as({}, 0)).toBe('ok');
    expect(as({}, 1)).toBe('failure');
    // An agent that Ralph stops after repeated refusals may exit with 0.
    expect(as({}, 0, 'authentication')).toBe('fatal');
    expect(as({}, 0, 'transient')).toBe('outage');
    expect(as({ said: 'error' }, 1, 'request-refused')).toBe('failure');
  });

  it('waits for an unavailable provider in every preset', () => {
    for (const { policy } of Object.values(presets)) {
      expect(classifyExit({ said: 'error' }, 1, 'transient', policy)).toBe('outage');
    }
  });

  it('has hit a usage limit whatever other error it reports, unless it reports success', () => {
    expect(as({ said: 'error', limit }, 1, 'authentication')).toBe('usage-limit');
    expect(as({ limit }, 1)).toBe('usage-limit');
    expect(as({ said: 'success', limit }, 0)).toBe('ok');
    expect(as({ limit }, 0)).toBe('ok');
  });

  it('is ok without a tool that it was denied, if it claims to be done', () => {
    expect(as({ said: 'error', claim }, 0, 'permission-denied')).toBe('ok');
    expect(as({ said: 'error' }, 0, 'permission-denied')).toBe('fatal');
    expect(as({ said: 'error', claim }, 0, 'authentication')).toBe('fatal');
  });
});

describe('a run that timed out', () => {
  const timedOut = (
    which: 'wall' | 'inactivity' | 'output' | 'total',
    output: Partial<OutputSnapshot>,
    preset: keyof typeof presets = 'default',
  ): RunClass => classify(runWith(output), { how: 'timed-out', which }, presets[preset].policy);

  it('is an outage if its agent could not reach its provider', () => {
    expect(timedOut('wall', { unreachable: true })).toBe('outage');
    expect(timedOut('inactivity', { unreachable: true })).toBe('outage');
    expect(timedOut('inactivity', { unreachable: true, limit })).toBe('usage-limit');
    expect(failureText({ how: 'timed-out', which: 'wall' }, 'outage')).toBe(
      'agent timeout: it could not reach its provider',
    );
  });

  it('is an outage in every preset if its provider never answered, up to the inactivity timeout', () => {
    const unanswered = (which: 'wall' | 'inactivity', preset: keyof typeof presets): RunClass =>
      classify(runWith({}), { how: 'timed-out', which, unanswered: true }, presets[preset].policy);
    for (const preset of PRESET_NAMES) expect(unanswered('inactivity', preset)).toBe('outage');
    // A model may think for longer than a run may take.
    expect(unanswered('wall', 'default')).toBe('failure');
    expect(failureText({ how: 'timed-out', which: 'inactivity', unanswered: true }, 'outage')).toBe(
      'agent timeout: the provider did not answer',
    );
  });

  it('is a failure if its agent was only silent, or printed too much', () => {
    expect([timedOut('wall', {}), timedOut('inactivity', {})]).toEqual(['failure', 'failure']);
    expect(timedOut('output', { unreachable: true })).toBe('failure');
    expect(timedOut('total', { unreachable: true })).toBe('interrupted');
  });
});
