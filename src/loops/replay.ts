import { existsSync } from 'node:fs';
import { eventsIn } from '../journal/stream.ts';
import type { LoopEvent } from '../loop/event.ts';
import { learn, NOTHING_KNOWN, type Knowledge } from '../loop/report.ts';
import { takeBackEnd } from '../store/end-note.ts';
import { journalProblem, type JournalProblem } from '../store/journal-problem.ts';
import {
  hasUnconfirmedEnd,
  liveOwner,
  readLoop,
  requireFolder,
  type LoopReading,
} from '../store/read-loop.ts';
import { readSpec, type Spec } from '../store/spec.ts';
import type { LoopFolder } from '../store/store.ts';
import { UserError } from '../user-error.ts';

/**
 * Goes through the journal of a loop, event by event, with what was known before and after each; the memory that it needs
 * does not grow with the journal. `take` returns false to stop. Returns the loop as far as it was read, with `trouble` if
 * the journal is damaged.
 */
export function replay(workspace: string, name: string, take: Take): LoopReading {
  const { folder, spec } = openLoop(workspace, name);
  const owner = liveOwner(folder);
  let known: Knowledge = NOTHING_KNOWN;
  const reading = (problem: JournalProblem): LoopReading => ({
    folder,
    spec,
    ...known,
    owner,
    trouble: problem.message,
  });
  // What another process has made of the journal is not shown.
  if (journalProblem(folder, null, owner) !== null) return readLoop(workspace, name);
  const events = eventsIn(folder.journal);
  for (;;) {
    const before = known;
    let event: LoopEvent;
    try {
      const next = events.next();
      if (next.done === true) break;
      event = next.value;
      known = learn(before, event);
    } catch (error) {
      const problem = journalProblem(folder, error, owner);
      if (problem === null) throw error;
      return reading(problem);
    }
    if (!take(event, before, known, spec)) break;
  }
  if (owner !== null || !hasUnconfirmedEnd(folder)) return { folder, spec, ...known, owner, trouble: null };
  const { taken, warning } = takeBackEnd(known);
  return { folder, spec, ...taken, owner, trouble: null, warning };
}

type Take = (event: LoopEvent, before: Knowledge, after: Knowledge, spec: Spec) => boolean;

/** Finds the loop without reading its journal, which may be large. */
function openLoop(workspace: string, name: string): { readonly folder: LoopFolder; readonly spec: Spec } {
  const folder = requireFolder(workspace, name);
  // Throws if there is none, and names the existing ones.
  if (!existsSync(folder.journal) || !existsSync(folder.spec))
    throw new UserError(readLoop(workspace, name).trouble ?? `cannot read the loop in ${folder.path}`);
  return { folder, spec: readSpec(folder.spec) };
}
