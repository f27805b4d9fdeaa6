/**
 * Keeps the machine awake while a loop goes on by itself: while its agent works, and while it waits for a time, as for a usage
 * limit. While it waits for a person, the machine may sleep.
 */
import { isInSession, type Spec } from '../home/spec.ts';
import { isNewRefusal } from '../home/wake-lock-note.ts';
import { decide } from '../loop/decide.ts';
import type { LoopState } from '../loop/state.ts';
import { stayAwake } from '../process/wake-lock.ts';

export class LoopWakeLock {
  readonly #say: (line: string) => void;
  readonly #isDriven: boolean;
  #release: (() => void) | null = null;

  constructor(spec: Spec, say: (line: string) => void) {
    this.#isDriven = !isInSession(spec);
    this.#say = say;
  }

  /** Takes or releases the wake lock, as the state wants it. */
  follow(state: LoopState): void {
    if (!this.#isDriven || !state.policy.keepAwake || !goesOnByItself(state)) return this.close();
    this.#release ??= stayAwake((why) => {
      if (isNewRefusal(why)) this.#say(`the machine may go to sleep while a loop runs: ${why}`);
    });
  }

  close(): void {
    this.#release?.();
    this.#release = null;
  }
}

/** Whether the loop does anything without a person; its own time limit does not count. */
function goesOnByItself(state: LoopState): boolean {
  if (state.outcome !== null) return false;
  const [question] = state.questions;
  const wanted = decide(state).filter(({ type }) => type !== 'alarm');
  const isForPerson = wanted.every(
    (effect) =>
      effect.type === 'rest' ||
      (effect.type === 'wait' && effect.why === 'answer' && question?.until === null),
  );
  // A run that is being ended is wanted no more, and still there.
  return wanted.length === 0 || !isForPerson;
}
