import { firstOf } from '../process/first-of.ts';
import { isQueued, post } from './inbox.ts';
import type { Control } from '../loop/event.ts';
import { readJournal } from '../journal/file.ts';
import { watchUntil } from '../process/watch.ts';
import type { LoopFolder } from './home.ts';
import { liveOwner, type LoopReading } from './read-loop.ts';

/** Puts a control into a loop's inbox. If the loop has an owner, waits until the owner has taken it. */
export async function deliver(
  loop: Pick<LoopReading, 'folder' | 'owner'>,
  control: Control,
): Promise<Delivery> {
  const { folder } = loop;
  const id = post(folder.inbox, control, Date.now());
  if (loop.owner === null) return 'queued';
  const isTaken = await untilTaken(folder, id);
  if (isTaken === null) return 'unanswered';
  if (!isTaken) return 'queued';
  let isJournaled = false;
  readJournal(folder.journal, {
    take(event) {
      isJournaled ||= event.type === 'control.received' && event.id === id;
    },
  });
  return isJournaled ? 'delivered' : 'refused';
}

/** Whether the owner has taken it; false once there is none, and null if it did not in time. */
async function untilTaken(folder: LoopFolder, id: string): Promise<boolean | null> {
  const look = (): boolean | null => {
    if (!isQueued(folder.inbox, id)) return true;
    return liveOwner(folder) === null ? false : null;
  };
  const found = new AbortController();
  const end = firstOf(found.signal, AbortSignal.timeout(OWNER_TIMEOUT_MS));
  // An owner that leaves changes its lock, which is in the other folder.
  const folders = [folder.inbox, folder.path];
  const isTaken = await Promise.race(folders.map((path) => watchUntil(path, look, end)));
  found.abort();
  return isTaken;
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
