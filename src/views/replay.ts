import { existsSync } from 'node:fs';
import { JournalError } from '../journal/journal.ts';
import { eventsIn } from '../journal/stream.ts';
import type { LoopEvent } from '../loop/event.ts';
import { learn, NOTHING_KNOWN, type Knowledge } from '../loop/report.ts';
import { takeBackEnd } from '../store/end-note.ts';
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
  let known: Knowledge = NOTHING_KNOWN;
  let trouble: string | null = null;
  try {
    for (const event of eventsIn(folder.journal)) {
      const before = known;
      known = learn(before, event);
      if (!take(event, before, known, spec)) break;
    }
  } catch (error) {
    if (!(error instanceof JournalError)) throw error;
    trouble = error.message;
  }
  const owner = liveOwner(folder);
  if (owner !== null || !hasUnconfirmedEnd(folder)) return { folder, spec, ...known, owner, trouble };
  const { taken, warning } = takeBackEnd(known, name);
  return { folder, spec, ...taken, owner, trouble, warning };
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
