import type { RunEnding } from './event.ts';
import type { Outcome } from './outcome.ts';
import type { LoopState, Refusal, Run } from './state.ts';

/** The outcome once the provider has refused the same prompt twice in the same way; null before. */
export function refusedForGood({ refusal, turn }: LoopState): Outcome | null {
  if (refusal === null || refusal.times < 2 || refusedMessage(turn.run?.ended?.ending) === null) return null;
  return { type: 'fatal', message: `the same prompt failed twice: ${refusal.message}` };
}

/** The last refusal after a failed run. Failures of another kind do not change it. */
export function refusalAfter({ refusal: last }: LoopState, run: Run, ending: RunEnding): Refusal | null {
  const message = refusedMessage(ending);
  if (message === null) return last;
  const refusal = { prompt: run.prompt, message, isOfPrompt: run.output.steps === 0, times: 1 };
  return last !== null && isSame(last, refusal) ? { ...refusal, times: last.times + 1 } : refusal;
}

/** Ralph adds to a prompt from run to run, so a message may name another number of tokens for the same prompt. */
function isSame(a: Refusal, b: Refusal): boolean {
  return a.prompt === b.prompt && (a.message === b.message || (a.isOfPrompt && b.isOfPrompt));
}

function refusedMessage(ending: RunEnding | undefined): string | null {
  return ending?.how === 'exited' && ending.error?.kind === 'request-refused' ? ending.error.message : null;
}
