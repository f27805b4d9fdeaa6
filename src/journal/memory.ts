import type { LoopEvent } from '../loop/event.ts';
import { JournalError, type Journal } from './journal.ts';

/** A journal that is gone with the process: for tests and for callers that keep nothing. */
export function memoryJournal(events: LoopEvent[] = []): Journal {
  return {
    get length() {
      return events.length;
    },
    append(event, expected) {
      if (expected !== events.length)
        throw new JournalError('fenced', `expected event ${events.length}, got ${expected}`);
      events.push(event);
    },
    look() {},
    sync() {},
    close() {},
  };
}
