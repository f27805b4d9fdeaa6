import { openRun } from '../loop/run.ts';
import { processes } from '../process/process.ts';
import type { LoopReading } from '../store/read-loop.ts';
import { loopFolder } from '../store/store.ts';

/** The pid of an agent that has outlived the owner of its loop; null if there is none. */
export function orphanOf({ owner, state, spec, folder }: LoopReading): number | null {
  if (owner !== null || state.outcome !== null) return null;
  // The processes of a loop whose folder was copied belong to the original.
  if (loopFolder(spec.workspace, spec.name).path !== folder.path) return null;
  const agent = openRun(state)?.receipt ?? null;
  return agent !== null && processes.lives(agent) ? agent.pid : null;
}
