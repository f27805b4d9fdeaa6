import { isQueued, post } from './inbox.ts';
import type { Control } from '../loop/event.ts';
import { readJournal } from '../journal/file.ts';
import { watchFolder } from '../process/watch.ts';
import { liveOwner, type LoopReading } from './read-loop.ts';

/** How long an owner that is there may take to hear. */
const HEARD_WITHIN_MS = 5000;

/** Puts a control into a loop's inbox and waits until its owner, if there is one, has taken it. */
export async function deliver(loop: LoopReading, control: Control): Promise<Delivery> {
  const { folder } = loop;
  const id = post(folder.inbox, control, Date.now());
  if (loop.owner === null) return 'queued';
  const isTaken = await new Promise<boolean>((resolve) => {
    const finish = (taken: boolean): void => {
      clearTimeout(timer);
      stopWatching();
      resolve(taken);
    };
    const timer = setTimeout(() => finish(false), HEARD_WITHIN_MS);
    const look = (): void => {
      if (!isQueued(folder.inbox, id)) finish(true);
    };
    const stopWatching = watchFolder(folder.inbox, look);
    setImmediate(look);
  });
  if (!isTaken) return liveOwner(folder) === null ? 'queued' : 'unanswered';
  let isKnown = false;
  readJournal(folder.journal, {
    take(event) {
      isKnown ||= event.type === 'control.received' && event.id === id;
    },
  });
  return isKnown ? 'delivered' : 'refused';
}

/**
 * What became of a control: it waits for an owner; its owner has journaled it; it was impossible; its owner is there
 * and does not take it.
 */
export type Delivery = 'queued' | 'delivered' | 'refused' | 'unanswered';
