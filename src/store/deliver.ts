import { isQueued, post } from './inbox.ts';
import type { Control } from '../loop/event.ts';
import { readJournal } from '../journal/file.ts';
import { watchUntil } from '../process/watch.ts';
import { liveOwner, type LoopReading } from './read-loop.ts';

/** Puts a control into a loop's inbox. If the loop has an owner, waits until the owner has taken it. */
export async function deliver(loop: LoopReading, control: Control): Promise<Delivery> {
  const { folder } = loop;
  const id = post(folder.inbox, control, Date.now());
  if (loop.owner === null) return 'queued';
  const isTaken = await watchUntil(
    folder.inbox,
    () => (isQueued(folder.inbox, id) ? null : true),
    AbortSignal.timeout(OWNER_TIMEOUT_MS),
  );
  if (isTaken === null) return liveOwner(folder) === null ? 'queued' : 'unanswered';
  let isJournaled = false;
  readJournal(folder.journal, {
    take(event) {
      isJournaled ||= event.type === 'control.received' && event.id === id;
    },
  });
  return isJournaled ? 'delivered' : 'refused';
}

export type Delivery =
  /** It waits in the inbox for the next owner. */
  | 'queued'
  /** The owner has journaled it. */
  | 'delivered'
  /** The owner has taken it, and the loop cannot obey it. */
  | 'refused'
  /** The owner runs and did not take it in time. */
  | 'unanswered';

const OWNER_TIMEOUT_MS = 5000;
