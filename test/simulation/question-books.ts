import type { LoopEvent } from '../../src/loop/event.ts';
import type { LoopState } from '../../src/loop/state.ts';
import { must, same } from './plain.ts';

/** The oracle's books about questions (L15). */
export class QuestionBooks {
  /** The open questions, and when the default of each applies. */
  readonly #open = new Map<string, number | null>();

  asked({ id, at, timeoutMs }: Extract<LoopEvent, { type: 'question.asked' }>): void {
    must(!this.#open.has(id), 'L15', `question ${id} is asked twice`);
    this.#open.set(id, timeoutMs === null ? null : at + timeoutMs);
  }

  answered(question: string | null): void {
    const [oldest] = this.#open.keys();
    this.#open.delete(question ?? oldest ?? '');
  }

  /** The time limit of the loop may end the wait first; then the question stays open. */
  timerFired({ key, at }: Extract<LoopEvent, { type: 'timer.fired' }>, { questions }: LoopState): void {
    const id = key.slice('answer:'.length);
    const until = this.#open.get(id) ?? null;
    if (until !== null && at >= until) this.#open.delete(id);
    const open = questions.map((question) => question.id);
    must(same(open, [...this.#open.keys()]), 'L15', `the default of ${id} applies too early or not at all`);
  }

  mayPlan(): void {
    must(this.#open.size === 0, 'L15', 'a run is planned before a question is answered');
  }
}
