import { admits } from '../../src/loop/admit.ts';
import { decide } from '../../src/loop/decide.ts';
import type { Effect } from '../../src/loop/effect.ts';
import type { Happening, LoopEvent, OutputSnapshot, RunEnding } from '../../src/loop/event.ts';
import { evolve } from '../../src/loop/evolve.ts';
import { INITIAL } from '../../src/loop/initial.ts';
import { classify } from '../../src/loop/failure.ts';
import type { Outcome } from '../../src/loop/outcome.ts';
import { NO_OUTPUT, openRun } from '../../src/loop/run.ts';
import type { LoopState } from '../../src/loop/state.ts';
import type { PolicyInput } from '../../src/loop/validate.ts';
import { policyOf } from './play.ts';

export { received } from './play.ts';

/** An event before the run's ending is classified. */
export type Entry =
  | Exclude<Happening, { type: 'run.ended' }>
  | { readonly type: 'run.ended'; readonly run: string; readonly ending: RunEnding; readonly jitter: number };

/** The state after an event, or the same state if the event is not admitted. */
export function write(state: LoopState, told: Entry & { readonly at: number }): LoopState {
  const event = judge(state, told);
  return event !== null && admits(state, event) ? evolve(state, event) : state;
}

function judge(state: LoopState, told: Entry & { readonly at: number }): LoopEvent | null {
  if (told.type !== 'run.ended') return told;
  const open = openRun(state);
  return open === null ? null : { ...told, as: classify(open, told.ending, state.policy) };
}

/** The state after these events; a number before one is its time in seconds after the creation. */
export function given(
  input: PolicyInput,
  ...happenings: readonly (Entry | readonly [number, Entry])[]
): LoopState {
  let at = 0;
  let state = evolve(INITIAL, { type: 'loop.created', name: 'l', policy: policyOf(input), at });
  for (const entry of happenings) {
    if (isTimed(entry)) at = entry[0] * 1000;
    state = write(state, { ...(isTimed(entry) ? entry[1] : entry), at });
  }
  return state;
}

function isTimed(entry: Entry | readonly [number, Entry]): entry is readonly [number, Entry] {
  return Array.isArray(entry);
}

export function wanted(state: LoopState): Effect | undefined {
  return decide(state)[0];
}

/** The outcome with which the loop wants to end; null if it does not. */
export function ending(state: LoopState): Outcome | null {
  const effect = wanted(state);
  return effect?.type === 'record' && effect.event.type === 'loop.ended' ? effect.event.outcome : null;
}

/** Only a tag can claim; no probes and no checkpoints. */
export const plain: PolicyInput & { readonly completion: object } = {
  limits: { unchanged: null },
  checkpoint: false,
  completion: {
    detectors: [
      {
        kind: 'promise-tag',
        value: 'DONE',
        placement: 'own-line',
        scope: 'assistant-text',
        phase: 'after',
        history: 'loop',
      },
    ],
  },
};

export const checked: PolicyInput = {
  ...plain,
  checks: { commands: [{ command: 'test', action: 'APPEND', hint: null }] },
};

export function iteration(n: number): Happening {
  return { type: 'iteration.started', iteration: n };
}

export function started(run: string): Happening {
  return { type: 'run.started', run, receipt: { pid: 1, startTime: '1', bootId: 'b', pidNamespace: 'n' } };
}

export function planned(run: string): Happening {
  return { type: 'run.planned', run, purpose: 'work', guidance: [], prompt: null };
}

export function output(run: string, more: Partial<OutputSnapshot>): Happening {
  return { type: 'run.output', run, ...NO_OUTPUT, ...more };
}

export function exited(run: string, code: number): Entry {
  return ended(run, { how: 'exited', code, error: null });
}

export function ended(run: string, how: RunEnding): Entry {
  return { type: 'run.ended', run, ending: how, jitter: 0 };
}

export function limit(resetsAt: number | null): Partial<OutputSnapshot> {
  return { limit: { resetsAt, message: 'usage limit' } };
}

/** The first iteration has started and its agent runs. */
export const begun: readonly Happening[] = [iteration(1), planned('1.1'), started('1.1')];
