import { describe, expect, it } from 'vitest';
import { classify } from './failure.ts';
import type { ErrorKind, OutputSnapshot, RunClass } from './event.ts';
import { presets } from './presets.ts';
import { NO_OUTPUT } from './run.ts';

/** What an agent that has exited has come to. */
function as(output: Partial<OutputSnapshot>, code: number, kind: ErrorKind | null = null): RunClass {
  const run = {
    id: '1.1',
    purpose: 'work',
    plannedAt: 0,
    receipt: null,
    guidance: [],
    ended: null,
    output: { ...NO_OUTPUT, ...output },
  } as const;
  const error = kind === null ? null : { kind, message: 'why' };
  return classify(run, { how: 'exited', code, error }, presets.default.policy);
}
const claim = { by: 'promise-tag', text: '<promise>DONE</promise>' } as const;
const limit = { resetsAt: null, message: 'usage limit' };

describe('an agent that has exited', () => {
  it('is believed what it says, and its exit code only where it says nothing and nothing went wrong', () => {
    expect(as({ said: 'success' }, 1)).toBe('ok');
    expect(as({ said: 'error' }, 0)).toBe('failure');
    expect(as({}, 0)).toBe('ok');
    expect(as({}, 1)).toBe('failure');
    // One that is ended since it was refused again and again may exit with 0.
    expect(as({}, 0, 'authentication')).toBe('fatal');
    expect(as({}, 0, 'transient')).toBe('outage');
  });

  it('has met a limit whatever else it complains of, unless it has done its work', () => {
    expect(as({ said: 'error', limit }, 1, 'authentication')).toBe('usage-limit');
    expect(as({ limit }, 1)).toBe('usage-limit');
    expect(as({ said: 'success', limit }, 0)).toBe('ok');
    expect(as({ limit }, 0)).toBe('ok');
  });

  it('has done its turn without the tool that it was refused, if it claims so', () => {
    expect(as({ said: 'error', claim }, 0, 'permission-denied')).toBe('ok');
    expect(as({ said: 'error' }, 0, 'permission-denied')).toBe('fatal');
    expect(as({ said: 'error', claim }, 0, 'authentication')).toBe('fatal');
  });
});
