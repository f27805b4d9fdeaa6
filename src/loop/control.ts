import { stepsInFlight, decide } from './decide.ts';
import type { Control, Happening } from './event.ts';
import type { LimitsPolicy, Policy } from './policy.ts';
import { answerBy, questionFor } from './questions.ts';
import type { ControlState, LoopState, StopRequest } from './state.ts';
import { runAgain } from './turn.ts';

/** The state after a control; a later one may supersede it. */
export function applyControl(state: LoopState, id: string, control: Control): LoopState {
  const seen = [...state.control.seen, id].slice(-MAX_SEEN_CONTROLS);
  const acknowledged = { ...state, control: { ...state.control, seen } };
  const change = (changed: Partial<ControlState>): LoopState => ({
    ...acknowledged,
    control: { ...acknowledged.control, ...changed },
  });

  switch (control.type) {
    case 'pause':
      return change({ paused: true });
    case 'resume': {
      const { run } = state.turn;
      const resumed = change({ paused: false, stop: null, signals: 0 });
      const isWaiting = run === null || run.ended?.as === 'usage-limit' || run.ended?.as === 'outage';
      return control.now && isWaiting ? runAgain(resumed, true) : resumed;
    }
    case 'stop':
      return change({ stop: stopRequest(state, control.now, control.by) });
    case 'signal': {
      const signals = state.control.signals + 1;
      const action = signals > 1 ? 'kill' : state.policy.signals[control.signal];
      if (action === 'pause') return change({ signals, paused: true });
      return change({ signals, stop: stopRequest(state, action === 'kill', 'signal', control.signal) });
    }
    case 'tell':
      return change({ guidance: [...state.control.guidance, { id, text: control.text }] });
    case 'answer': {
      const question = questionFor(state, control.question);
      return question === undefined ? acknowledged : answerBy(acknowledged, id, question, control.text);
    }
    case 'abort':
      return change({
        stop: {
          ...stopRequest(state, true, 'signal'),
          abort: { type: control.as ?? 'fatal', message: control.message },
        },
      });
    case 'set':
      return { ...acknowledged, policy: withLimits(state.policy, control.limits) };
  }
}

/** The steps in flight at the first request may finish; a later request can only add `now`. */
function stopRequest(
  state: LoopState,
  now: boolean,
  by: StopRequest['by'],
  signal: StopRequest['signal'] = null,
): StopRequest {
  const earlier = state.control.stop;
  if (earlier !== null) {
    // The signal that ends the step is the one that ends the loop.
    return now && !earlier.now ? { ...earlier, now, signal: signal ?? earlier.signal } : earlier;
  }
  return { by, signal, now, abort: null, finishing: stepsInFlight(state) };
}

/** A policy with other limits. */
export function withLimits(policy: Policy, changes: Partial<LimitsPolicy>): Policy {
  const stated = Object.entries(changes).filter(([, value]) => value !== undefined);
  return { ...policy, limits: { ...policy.limits, ...Object.fromEntries(stated) } };
}

/** A repeated control arrives soon after the first, so the last ids suffice. */
const MAX_SEEN_CONTROLS = 100;

/** The fatal end that an owner could not write any more, as on a full disk; nothing if the loop has none. */
export function unwrittenEnd(state: LoopState): readonly Happening[] {
  if (state.control.stop !== null) return [];
  return decide(state).flatMap((effect) => {
    const event = effect.type === 'record' ? effect.event : null;
    return event?.type === 'loop.ended' && event.outcome.type === 'fatal' ? [event] : [];
  });
}
