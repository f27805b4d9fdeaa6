import type { AgentEvent } from '../agents/agent.ts';
import type { LoopEvent } from '../loop/event.ts';

/** What was journaled, what the agent did, and how much of both was missed by whoever was too slow for it. */
export type SeenEvent =
  | LoopEvent
  | (AgentEvent & { readonly at: number })
  /** So many events came and went before they were asked for. */
  | { readonly type: 'events.missed'; readonly count: number; readonly at: number };

/** Whether it stands in the journal. */
export function isJournaled(event: SeenEvent): event is LoopEvent {
  return JOURNALED.test(event.type);
}

const JOURNALED =
  /^(?:loop|policy|owner|iteration|run|checks|check|probe|claim|changes|commit|checkpoint|limit|timer|child|control)\./;

const MOST_EVENTS = 1000;
/** An agent's single event may be as long as a file. */
const MOST_CHARACTERS = 8 * 1024 * 1024;

/**
 * The last events of a loop, for any number of readers, each at its own pace. The loop waits for nobody, so what is kept
 * is bounded: 1000 events, and no more than some megabytes of text.
 */
export class RecentEvents implements AsyncIterable<SeenEvent> {
  #kept: { readonly event: SeenEvent; readonly size: number }[] = [];
  /** How many came before the first that is kept. */
  #before = 0;
  #size = 0;
  #isEnded = false;
  #wake: (() => void)[] = [];

  push(event: SeenEvent): void {
    const size = sizeOf(event);
    this.#kept.push({ event, size });
    this.#size += size;
    while (this.#kept.length > MOST_EVENTS || (this.#size > MOST_CHARACTERS && this.#kept.length > 1)) {
      this.#size -= this.#kept.shift()?.size ?? 0;
      this.#before++;
    }
    this.#wakeAll();
  }

  /** Nothing more will come. */
  end(): void {
    this.#isEnded = true;
    this.#wakeAll();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<SeenEvent, void, undefined> {
    for (let next = 0; ;) {
      const count = this.#before - next;
      const kept = this.#kept[Math.max(0, -count)];
      if (count > 0) {
        next = this.#before;
        yield { type: 'events.missed', count, at: kept?.event.at ?? 0 };
      } else if (kept !== undefined) {
        next++;
        yield kept.event;
      } else if (this.#isEnded) {
        return;
      } else {
        // oxlint-disable-next-line no-await-in-loop -- there is nothing to read until somebody writes
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

/** Near enough: the fields that can be long. */
function sizeOf(event: SeenEvent): number {
  const texts = [
    'text' in event ? event.text : null,
    'output' in event ? event.output : null,
    'input' in event ? event.input : null,
    'line' in event ? event.line : null,
  ];
  return texts.reduce((sum, text) => sum + (text?.length ?? 0), 100);
}
