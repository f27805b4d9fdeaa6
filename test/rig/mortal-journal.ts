import { JournalError, type Journal } from '../../src/journal/journal.ts';
import { memoryJournal } from '../../src/journal/memory.ts';
import type { Life, Pages } from './life.ts';
import { Crash } from './toy-driver.ts';

/**
 * The journal in memory as one process sees it, which may die over an event or find the disk full. Dying right after
 * one is up to who hears of it: from then on nothing can be written here.
 */
export function mortalJournal(pages: Pages, life: Life, fate: JournalFaults): Journal {
  const journal = memoryJournal(pages.events);
  return {
    get length() {
      return journal.length;
    },
    append(event, expected) {
      const index = journal.length + 1;
      if (!life.isDead && event.type !== 'owner.changed' && fate.crashesBefore(index)) life.die();
      if (life.isDead) throw CRASH;
      if (fate.isDiskFull(index)) throw new JournalError('disk-full', 'no space left');
      journal.append(event, expected);
    },
    look() {},
    sync() {
      if (!life.isDead) pages.synced = journal.length;
    },
    close() {},
  };
}

/** What happens over the event with this number. */
export interface JournalFaults {
  crashesBefore(index: number): boolean;
  isDiskFull(index: number): boolean;
}

/** One for all: a stack trace for every death would be most of the work. */
const CRASH = new Crash();
