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

/**
 * Whether the same prompt was refused in the same way. Once the agent has used a tool, it is a later request that is
 * refused. Ralph adds to a prompt from run to run, so the message may name another number of tokens.
 */
function isSame(a: Refusal, b: Refusal): boolean {
  return a.isOfPrompt && b.isOfPrompt && a.prompt === b.prompt && withoutNumbers(a) === withoutNumbers(b);
}

function withoutNumbers({ message }: Refusal): string {
  return message.replaceAll(/\d+/g, '#');
}

function refusedMessage(ending: RunEnding | undefined): string | null {
  return ending?.how === 'exited' && ending.error?.kind === 'request-refused' ? ending.error.message : null;
}
