/**
 * The gate of the journal: which events may be written now. The driver asks once, before it writes an event; the fold
 * trusts what it reads, so that a later version with other rules reads an old journal with its original meaning.
 *
 * 1. The result of an effect is admitted only while the effect is wanted, so a repeated or late result is dropped.
 * 2. A timer is admitted only at or after its time.
 * 3. A decision is admitted only as `decide` made it, and a policy only if it is valid.
 * 4. After the end only `loop.reopened` is admitted.
 */
import { decide } from './decide.ts';
import type { Effect } from './effect.ts';
import type { LoopEvent } from './event.ts';
import { mayAsk, questionFor } from './questions.ts';
import { withLimits } from './control.ts';
import { accepts } from './evolve.ts';
import type { Policy } from './policy.ts';
import { openRun } from './run.ts';
import type { LoopState } from './state.ts';
import { findProblems } from './validate.ts';

/** Whether an event may be written into the journal of a loop in this state. */
export function admits(state: LoopState, event: LoopEvent): boolean {
  if (!accepts(state, event)) return false;
  const wants = (key: string): Effect | undefined => decide(state).find((effect) => effect.key === key);
  const decided = (key: string): boolean => {
    const effect = wants(key);
    return (
      effect?.type === 'record' && JSON.stringify({ ...effect.event, at: event.at }) === JSON.stringify(event)
    );
  };
  switch (event.type) {
    case 'loop.created':
    case 'policy.changed':
      return isValid(event.policy);
    case 'loop.reopened':
      if (event.because !== undefined) return state.outcome?.type === 'done' && event.policy === null;
      return event.policy === null || isValid(event.policy);
    case 'owner.changed':
    case 'owner.left':
      return true;
    case 'start.recorded':
      // After a run the tree may be another one.
      return state.start === null && state.turn.iteration === 1 && state.turn.runs === 0;
    case 'iteration.started':
      return decided(`iteration:${event.iteration}`);
    case 'run.planned':
      return openRun(state) === null && wants(`run:${event.run}`) !== undefined;
    case 'run.started':
    case 'run.ended':
      return openRun(state)?.id === event.run;
    case 'run.output': {
      const open = openRun(state);
      return open?.id === event.run && event.offset >= open.output.offset;
    }
    case 'checks.started':
      return decided(`checks:${event.iteration}`);
    case 'check.finished': {
      const effect = wants(`check:${event.iteration}.${event.index + 1}`);
      return effect?.type === 'check' && effect.run === event.run && effect.check.command === event.command;
    }
    case 'probe.finished':
      return wants(event.key)?.type === 'probe';
    case 'evidence.examined':
      return wants(event.key)?.type === 'examine';
    case 'evidence.restored':
      return wants(event.key)?.type === 'restore';
    case 'claim.made':
      return decided(`claim:${event.iteration}`);
    case 'claim.accepted':
    case 'claim.rejected':
      return decided(`verdict:${event.iteration}`);
    case 'changes.found':
      return wants(`changes:${event.iteration}`) !== undefined;
    case 'commit.made': {
      const key = `commit:${event.iteration}`;
      return wants(key)?.type === 'commit' || decided(key);
    }
    case 'checkpoint.taken':
      return wants(`checkpoint:${event.iteration}`) !== undefined;
    case 'limit.neared':
      return decided(`neared:${event.limit}`);
    case 'unchanged.noticed':
      return decided('noticed:unchanged');
    case 'family.counted':
      return JSON.stringify(state.family) !== JSON.stringify({ below: event.below, above: event.above });
    case 'limit.shared': {
      const wanted = decide(state).find((effect) => effect.type === 'run');
      return openRun(state) === null && wanted?.respectsSharedLimit === true && event.resetsAt > event.at;
    }
    case 'timer.fired': {
      const effect = wants(event.key);
      return effect !== undefined && 'until' in effect && effect.until !== null && event.at >= effect.until;
    }
    case 'child.started':
      return !state.children.includes(event.child);
    case 'child.ended':
      return state.children.includes(event.child);
    case 'question.asked':
      return mayAsk(state, event);
    case 'control.received':
      if (state.control.seen.includes(event.id)) return false;
      if (event.control.type === 'answer') return questionFor(state, event.control.question) !== undefined;
      return event.control.type !== 'set' || isValid(withLimits(state.policy, event.control.limits));
    case 'loop.ended':
      return decided('end');
  }
}

function isValid(policy: Policy): boolean {
  return findProblems(policy).length === 0;
}
