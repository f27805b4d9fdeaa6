import type { AgentEvent } from '../agents/agent.ts';
import type { EngineStop } from '../engine/engine.ts';
import type { Observer } from '../engine/ports.ts';
import type { JournalReader } from '../journal/file.ts';
import type { Projections } from '../projections/projections.ts';

/**
 * Watches a loop through its owner: a live view, a projection, a notifier. An owner has any number of observers, and
 * none of them can change what the loop does.
 */
export interface LoopObserver extends Observer {
  /** The agent said or did something, at this moment. */
  agent?(event: AgentEvent, at: number): void;
  /** The agent said or did something that an earlier owner has shown already. */
  recalled?(event: AgentEvent): void;
  /** The prompt of the run that is about to start, without secrets. */
  prompted?(text: () => string): void;
  /** The loop is no longer driven; this process still owns it. */
  stopped?(stop: EngineStop): void;
  /** A line about something that is not an event and may take a while. */
  status?(line: string): void;
}

type Appended = Parameters<NonNullable<LoopObserver['appended']>>;

/** Keeps what is journaled and said before the loop is driven, for observers that come until then. */
export class Backlog implements LoopObserver {
  #kept: ((observer: LoopObserver) => void)[] | null = [];

  appended(...event: Appended): void {
    this.#kept?.push((observer) => observer.appended?.(...event));
  }

  status(line: string): void {
    this.#kept?.push((observer) => observer.status?.(line));
  }

  /** Takes the events of a new loop as they are read: they are news to its observers. */
  after(projections: Projections): JournalReader {
    return {
      take: (event) => {
        projections.take(event);
        this.appended(event, projections.known.state, projections.known.report);
      },
    };
  }

  /** Gives an observer what it has missed. */
  replay(observer: LoopObserver): void {
    for (const give of this.#kept ?? []) give(observer);
  }

  /** The loop is driven from now on: an observer that comes later sees only what happens then. */
  close(): void {
    this.#kept = null;
  }
}
