import { JournalError, type Journal } from '../../src/journal/journal.ts';
import { memoryJournal } from './memory-journal.ts';
import type { Life, Pages } from './life.ts';
import { Crash } from './toy-driver.ts';

/**
 * The journal in memory as one process sees it, which may crash before an event or find the disk full. The observer causes
 * a crash after an event; nothing can be written from then on.
 */
export function mortalJournal(pages: Pages, life: Life, faults: WriteFaults): Journal {
  const journal = memoryJournal(pages.events);
  return {
    get length() {
      return journal.length;
    },
    append(event, expected) {
      const index = journal.length + 1;
      if (!life.isDead && event.type !== 'owner.changed' && faults.crashesBefore(index)) life.die();
      if (life.isDead) throw CRASH;
      if (faults.isDiskFull(index)) throw new JournalError('disk-full', 'no space left');
      journal.append(event, expected);
    },
    verify() {},
    sync() {
      if (!life.isDead) pages.synced = journal.length;
    },
    close() {},
  };
}

/** What happens when the event with this number is written. */
export interface WriteFaults {
  crashesBefore(index: number): boolean;
  isDiskFull(index: number): boolean;
}

/** Shared, since a stack trace for every crash would take most of the time. */
const CRASH = new Crash();
