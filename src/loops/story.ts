import { endRecord } from '../projections/end-record.ts';
import { entryForNow, entryForTotals, storyOf, type StoryEntry, type StoryFilter } from '../text/story.ts';
import { UserError } from '../user-error.ts';
import { pagesOf } from './events.ts';
import type { Loops, LoopRef } from './loops.ts';

/** What has happened in a loop, as its journal is read, what it does now, and its sums. */
export async function* readStory(
  loops: Pick<Loops, 'get' | 'events' | 'facts'>,
  loop: LoopRef,
  filter: StoryFilter,
  isVerbose = false,
): AsyncGenerator<StoryEntry, void, void> {
  const before = await loops.get(loop);
  const { spec } = before;
  if (spec === null) throw new UserError(before.trouble ?? `cannot read loop ${loop.name}`);
  yield* storyOf(pagesOf(loops, loop), { spec, isVerbose, endRecord }, filter);
  // Nothing changes a loop that no process drives, and its journal may be long.
  const { summary, state, report, trouble } = before.summary.owner === null ? before : await loops.get(loop);
  if (trouble !== null) throw new UserError(trouble);
  checkIteration(filter, loop.name, state.iteration);
  const now = entryForNow(summary, Date.now());
  if (now !== null) yield now;
  // A part of the story would look like the reason for the sums of all of it.
  if (filter.from !== 0 || filter.iteration !== null) return;
  const { changes } = await loops.facts(loop, { since: null });
  yield entryForTotals({ state, report }, state.family.below, changes?.count ?? null, Date.now());
}

function checkIteration({ iteration }: StoryFilter, name: string, last: number): void {
  if (iteration === null || iteration <= last) return;
  const known =
    last === 0 ? 'it has not started one' : last === 1 ? 'iterations: 1' : `iterations: 1 to ${last}`;
  throw new UserError(`loop ${name} has no iteration ${iteration} (${known})`);
}
