/**
 * The note about its end that the owner of a loop writes when the loop is done, beside the journal: how long the journal is then.
 *
 * 1. It is written after the last event was synced and before the owner gives up the lock. So a loop that is done and has neither an
 *    owner nor a note that fits was not ended by an owner, or its owner died in between.
 * 2. Such an end does not count: the loop is shown as crashed, and its next owner judges the claim again.
 */
import { PRIVATE_FILE, textOf } from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';
import type { Happening } from '../loop/event.ts';
import { learn, type Knowledge } from '../loop/report.ts';
import type { LoopFolder } from './home.ts';

/** Notes the end of a loop that is done; `bytes` is the length of its journal. */
export function noteEnd({ ended }: LoopFolder, bytes: number): void {
  try {
    replaceFile(ended, `${bytes}\n`, { mode: PRIVATE_FILE });
  } catch {
    // Without a note the next owner judges the claim again.
  }
}

/** Whether an owner has noted an end of the journal at this length. */
export function isEndNoted({ ended }: LoopFolder, bytes: number): boolean {
  return textOf(ended, MAX_BYTES) === `${bytes}\n`;
}

const MAX_BYTES = 32;

/** A loop without the end that is not noted, as its next owner will see it, and what people should know about it. */
export function takeBackEnd(known: Knowledge): { readonly taken: Knowledge; readonly warning: string } {
  return {
    taken: learn(known, { ...UNCONFIRMED_END, at: known.state.now }),
    warning:
      'the journal says that the loop is done, but the Ralph process that ran the loop did not confirm it; when the loop is resumed, Ralph judges the claim again',
  };
}

/** How the next owner takes back an end that is not noted. */
export const UNCONFIRMED_END: Happening = { type: 'loop.reopened', policy: null, because: 'unconfirmed-end' };
