import type { LoopEvent } from '../loop/event.ts';
import { openRun } from '../loop/run.ts';
import { processes } from '../process/process.ts';
import type { LoopReading } from './read-loop.ts';
import { runMarker } from './run-environment.ts';

type Left = Pick<LoopReading, 'owner' | 'state' | 'spec'>;

/** What a new owner records about the agent that it was left: whether that is gone. */
export function legacyOf({ state, spec }: Omit<Left, 'owner'>): Pick<OwnerChanged, 'agentGone'> {
  // Every step of a session has an owner of its own.
  const isLeft = openRun(state) !== null && state.policy.host !== 'session';
  return isLeft && orphanOf({ owner: null, state, spec }) === null ? { agentGone: true } : {};
}

type OwnerChanged = Extract<LoopEvent, { type: 'owner.changed' }>;

/** The pid of an agent that has outlived the owner of its loop; null if there is none. */
export function orphanOf({ owner, state, spec }: Left): number | null {
  if (owner !== null || state.outcome !== null) return null;
  const run = openRun(state);
  if (run === null) return null;
  // The owner may have died before it could journal that the agent started.
  if (run.receipt === null) return processes.firstMarked(runMarker(spec, run.id));
  return processes.lives(run.receipt) ? run.receipt.pid : null;
}
