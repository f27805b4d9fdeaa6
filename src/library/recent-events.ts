import type { LoopEvent } from '../loop/event.ts';
import type { AgentEvent } from '../loops/loops.ts';

/** A journaled event, an event of the agent, or the number of events that a slow reader missed. */
export type SeenEvent =
  | LoopEvent
  | (AgentEvent & { readonly at: number })
  /** Events that were dropped before this reader asked for them. */
  | { readonly type: 'events.missed'; readonly count: number; readonly at: number };

/** Whether the event is in the journal. */
export function isJournaled(event: SeenEvent): event is LoopEvent {
  return JOURNALED.test(event.type);
}

const JOURNALED =
  /^(?:loop|start|policy|owner|iteration|run|checks|check|probe|evidence|claim|changes|commit|checkpoint|limit|timer|child|control)\./;

const MAX_EVENTS = 1000;
/** A single event can be as long as a file. */
const MAX_CHARACTERS = 8 * 1024 * 1024;

/**
 * The last events of a loop, for any number of readers, each at its own pace. The loop does not wait for readers, so
 * the number of events and their total length are bounded.
 */
export class RecentEvents implements AsyncIterable<SeenEvent> {
  #kept: { readonly event: SeenEvent; readonly size: number }[] = [];
  /** Number of events dropped so far. */
  #dropped = 0;
  #size = 0;
  #isEnded = false;
  #wake: (() => void)[] = [];

  push(event: SeenEvent): void {
    const size = sizeOf(event);
    this.#kept.push({ event, size });
    this.#size += size;
    while (this.#kept.length > MAX_EVENTS || (this.#size > MAX_CHARACTERS && this.#kept.length > 1)) {
      this.#size -= this.#kept.shift()?.size ?? 0;
      this.#dropped++;
    }
    this.#wakeAll();
  }

  /** No more events will follow. */
  end(): void {
    this.#isEnded = true;
    this.#wakeAll();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<SeenEvent, void, undefined> {
    for (let next = 0; ;) {
      const count = this.#dropped - next;
      const kept = this.#kept[Math.max(0, -count)];
      if (count > 0) {
        next = this.#dropped;
        yield { type: 'events.missed', count, at: kept?.event.at ?? 0 };
      } else if (kept !== undefined) {
        next++;
        yield kept.event;
      } else if (this.#isEnded) {
        return;
      } else {
        // oxlint-disable-next-line no-await-in-loop -- waits for the next event
        await new Promise<void>((resolve) => {
          this.#wake.push(resolve);
        });
      }
    }
  }

  #wakeAll(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }
}

/** An estimate from the fields that can be long. */
function sizeOf(event: SeenEvent): number {
  const texts = [
    'text' in event ? event.text : null,
    'output' in event ? event.output : null,
    'input' in event ? event.input : null,
    'line' in event ? event.line : null,
  ];
  return texts.reduce((sum, text) => sum + (text?.length ?? 0), 100);
}
