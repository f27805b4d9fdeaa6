import type { LoopEvent } from '../../src/loop/event.ts';
import { JournalError, type Journal } from '../../src/journal/journal.ts';

/** A journal in memory, for tests. */
export function memoryJournal(events: LoopEvent[] = []): Journal {
  return {
    get length() {
      return events.length;
    },
    append(event, expected) {
      if (expected !== events.length)
        throw new JournalError(
          'fenced',
          `cannot append: the journal has ${events.length} events, the writer expected ${expected}`,
        );
      events.push(event);
    },
    verify() {},
    sync() {},
    close() {},
  };
}
