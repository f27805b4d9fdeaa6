import type { ErrorKind, OutputSnapshot, RunClass, RunEnding } from './event.ts';
import { exitCodeText } from './exit-code.ts';
import type { Outcome } from './outcome.ts';
import type { Policy } from './policy.ts';
import { producedWork, endsByClaim } from './run.ts';
import type { Run, LoopState, Refusal } from './state.ts';

/** Classifies an ended run. The result that the agent reports outranks its exit code, which is often wrong. */
export function classify(run: Run, ending: RunEnding, policy: Policy): RunClass {
  switch (ending.how) {
    case 'interrupted':
      return run.output.said === 'success' || endsByClaim(run.output) ? 'ok' : 'interrupted';
    case 'not-started':
      return isFatal(ending.error.kind) ? 'fatal' : 'failure';
    case 'timed-out':
      if (ending.which === 'total') return run.output.said === 'success' ? 'ok' : 'interrupted';
      if (run.output.limit !== null) return 'usage-limit';
      if (run.output.unreachable === true && ending.which !== 'output') return 'outage';
      if (isUnanswered(ending)) return 'outage';
      return ending.which === 'inactivity' && policy.timeouts.inactivityIs === 'restart'
        ? 'restart'
        : 'failure';
    case 'exited':
      if (ending.code !== null && ending.code === policy.completion.handOver.exitCode) return 'wait';
      return classifyExit(run.output, ending);
  }
}

/** Whether the provider never answered the run. A model may also think for longer than the run may take. */
export function isUnanswered(ending: RunEnding): boolean {
  return ending.how === 'timed-out' && ending.which === 'inactivity' && ending.unanswered === true;
}

/** Without a reported result, exit code 0 without an error means success. */
function classifyExit(
  { said, limit, claim }: OutputSnapshot,
  { code, error }: Extract<RunEnding, { how: 'exited' }>,
): RunClass {
  if (said === 'success' || (said === null && code === 0 && error === null)) return 'ok';
  if (limit !== null) return 'usage-limit';
  // The shim that records the exit code was killed too: then only the agent's claim says how it ended.
  if (said === null && code === null && error === null && claim !== null) return 'ok';
  // An agent that was denied a tool may have completed its work without it.
  if (error?.kind === 'permission-denied' && claim !== null) return 'ok';
  if (error !== null && isFatal(error.kind)) return 'fatal';
  return error?.kind === 'transient' ? 'outage' : 'failure';
}

/** Whether a retry cannot help. */
export function isFatal(kind: ErrorKind): boolean {
  switch (kind) {
    case 'command-not-found':
    case 'not-executable':
    case 'invalid-configuration':
    case 'prompt-missing':
    case 'prompt-unreadable':
    case 'authentication':
    case 'out-of-credit':
    case 'blocked':
    case 'unknown-model':
    case 'permission-denied':
    case 'disk-full':
      return true;
    case 'request-refused':
    case 'transient':
    case 'other':
      return false;
  }
}

/** The outcome after a fatal run: bad input if no agent ever started, else fatal. */
export function fatalOutcome(ending: RunEnding, everStarted: boolean): Outcome {
  const error = 'error' in ending ? ending.error : null;
  const message = error?.message ?? 'the agent cannot be run';
  switch (error?.kind) {
    case 'prompt-missing':
    case 'prompt-unreadable':
      return { type: 'prompt-lost', message };
    case 'command-not-found':
    case 'not-executable':
    case 'invalid-configuration':
      return { type: everStarted ? 'fatal' : 'bad-input', message };
    case 'authentication':
    case 'out-of-credit':
    case 'blocked':
    case 'unknown-model':
    case 'permission-denied':
    case 'disk-full':
    case 'request-refused':
    case 'transient':
    case 'other':
    case undefined:
      return { type: 'fatal', message };
  }
}

/** Why a run failed, in one line for the next prompt and the report; null if it completed or was interrupted. */
export function failureText(ending: RunEnding, as: RunClass): string | null {
  if (producedWork(as)) return null;
  switch (ending.how) {
    case 'interrupted':
      return null;
    case 'not-started':
      return ending.error.message;
    case 'timed-out':
      if (as === 'outage' && isUnanswered(ending)) return 'agent timeout: the provider did not answer';
      if (as === 'outage') return 'agent timeout: it could not reach its provider';
      return ending.which === 'output' ? 'agent exceeded the output limit' : 'agent timeout';
    case 'exited':
      if (ending.error !== null) return ending.error.message;
      return ending.code === null
        ? 'agent exited, exit code unknown'
        : `agent exited with code ${exitCodeText(ending.code)}`;
  }
}

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
