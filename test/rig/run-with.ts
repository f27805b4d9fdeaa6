import type { OutputSnapshot } from '../../src/loop/event.ts';
import { NO_OUTPUT } from '../../src/loop/run.ts';
import type { Run } from '../../src/loop/state.ts';

/** A run that is still open and has printed this. */
export function runWith(output: Partial<OutputSnapshot>): Run {
  return {
    id: '1.1',
    purpose: 'work',
    plannedAt: 0,
    receipt: null,
    prompt: null,
    guidance: [],
    ended: null,
    output: { ...NO_OUTPUT, ...output },
  };
}
