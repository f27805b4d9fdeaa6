import type { LoopEvent } from '../loop/event.ts';
import { openRun } from '../loop/run.ts';
import { processes } from '../process/process.ts';
import { exitStatus, shimAt } from '../process/shim-files.ts';
import type { LoopReading } from '../store/read-loop.ts';
import { runMarker } from '../store/run-environment.ts';

type Left = Pick<LoopReading, 'owner' | 'state' | 'spec' | 'folder'>;

/** What a new owner records about the agent that it was left: whether that is gone. */
export function legacyOf({ state, spec, folder }: Omit<Left, 'owner'>): Pick<OwnerChanged, 'agentGone'> {
  // Every step of a session has an owner of its own.
  const isLeft = openRun(state) !== null && state.policy.host !== 'session';
  return isLeft && orphanOf({ owner: null, state, spec, folder }) === null ? { agentGone: true } : {};
}

type OwnerChanged = Extract<LoopEvent, { type: 'owner.changed' }>;

/** The pid of an agent that has outlived the owner of its loop; null if there is none. */
export function orphanOf({ owner, state, spec, folder }: Left): number | null {
  if (owner !== null || state.outcome !== null) return null;
  const run = openRun(state);
  if (run === null) return null;
  // The owner may have died before it could journal that the agent started.
  if (run.receipt === null)
    return (
      processes.firstMarked(runMarker(spec, run.id)) ?? shimAt(folder.run(run.id), processes)?.pid ?? null
    );
  // A shim lives on for a moment when its agent has exited.
  return processes.lives(run.receipt) && exitStatus(folder.run(run.id)) === null ? run.receipt.pid : null;
}
