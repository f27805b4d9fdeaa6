import type { AgentEvent } from '../agents/agent.ts';
import type { Observer } from '../engine/ports.ts';
import type { LoopEvent } from '../loop/event.ts';
import type { LoopReport } from '../loop/report.ts';
import type { LoopState } from '../loop/state.ts';

/**
 * Watches a loop through its owner: a live view, a projection, a notifier. An owner has any number of observers, and
 * none of them can change what the loop does.
 */
export interface LoopObserver extends Omit<Observer, 'appended'> {
  /** An event was journaled; `state` and `report` are those after it. */
  appended?(event: LoopEvent, state: LoopState, report: LoopReport): void;
  /** The agent said or did something, at this moment. */
  agent?(event: AgentEvent & { readonly at: number }): void;
  /** The agent said or did something that an earlier owner has shown already. */
  recalled?(event: AgentEvent): void;
  /** The prompt of the run that is about to start, without secrets. */
  prompted?(text: () => string): void;
  /** A line about something that is not an event and may take a while. */
  status?(line: string): void;
}

/** The observers of one owner, called in the order in which they were added. */
export class Observers {
  readonly #list: LoopObserver[] = [];
  #missed: Parameters<NonNullable<LoopObserver['appended']>>[] = [];
  #keepsMissed = true;

  /** Adds an observer and gives it the events that were journaled before the loop was driven. */
  add(observer: LoopObserver): void {
    this.#list.push(observer);
    for (const missed of this.#missed) observer.appended?.(...missed);
  }

  /** The loop is driven from now on: a later observer gets only later events. */
  forgetMissed(): void {
    this.#keepsMissed = false;
    this.#missed = [];
  }

  appended(event: LoopEvent, state: LoopState, report: LoopReport): void {
    if (this.#keepsMissed) this.#missed.push([event, state, report]);
    for (const observer of this.#list) observer.appended?.(event, state, report);
  }

  tell(call: (observer: LoopObserver) => void): void {
    for (const observer of this.#list) call(observer);
  }

  /** Settles when every observer can take more output; undefined when all can at once. */
  ready(): Promise<void> | undefined {
    const waits = this.#list.flatMap((observer) => observer.ready?.() ?? []);
    return waits.length === 0 ? undefined : Promise.all(waits).then(() => undefined);
  }
}
