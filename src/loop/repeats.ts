import type { Outcome } from './outcome.ts';
import { producedWork } from './run.ts';
import type { LoopState } from './state.ts';

/** The agent's last answer, as far as it shows that nothing happens any more. */
export interface Repeats {
  /** Identifies the answer; null if the agent has called a tool, or if the answer is not known. */
  readonly answer: string | null;
  /** The tree after it; null if it is not known, and then no tool call has changed it. */
  readonly tree: string | null;
  /** How many times in a row the same answer came with the same tree. */
  readonly times: number;
}

export const NO_REPEATS: Repeats = { answer: null, tree: null, times: 0 };

/** The repeats after a turn. A run that was cut short says nothing. */
export function repeatsAfter({ repeats, turn: { run, recorded } }: LoopState): Repeats {
  if (!producedWork(run?.ended?.as)) return repeats;
  const answer = run?.output.answer ?? null;
  if (answer === null) return NO_REPEATS;
  const isSame = answer === repeats.answer && recorded === repeats.tree;
  return { answer, tree: recorded, times: isSame ? repeats.times + 1 : 1 };
}

/** Whether the tree tells if an answer is a repetition: a person may have changed a file. */
export function watchesTree({ policy, turn }: LoopState): boolean {
  return policy.limits.repeats !== null && turn.run?.output.answer !== undefined;
}

/** The outcome of a loop whose agent has repeated its answer as many times as its limit says. */
export function repeating(state: LoopState): Outcome | null {
  const limit = state.policy.limits.repeats;
  if (limit === null || !producedWork(state.turn.run?.ended?.as)) return null;
  const { times } = repeatsAfter(state);
  return times >= limit ? { type: 'stuck', unchanged: times, sameAnswer: true } : null;
}
