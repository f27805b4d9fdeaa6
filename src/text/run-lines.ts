import { clockTime } from './times.ts';
import { duration, counted, exactDuration, ofLimit } from '../loop/counted.ts';
import { decide } from '../loop/decide.ts';
import type { Effect } from '../loop/effect.ts';
import type { LoopEvent } from '../loop/event.ts';
import { exitCodeText, signalText } from '../loop/exit-code.ts';
import { failureText } from '../loop/failure.ts';
import { isLastTry, mayStillClaim } from '../loop/retry.ts';
import { capAtDeadline, resetsTooLate, statedReset, tooManyOutages, waitAfter } from '../loop/limits.ts';
import { describeNearMiss, missedClaim } from '../loop/claim.ts';
import type { LoopReport } from '../loop/report.ts';
import type { LoopState, Run } from '../loop/state.ts';
import { longerWaitText } from './waits.ts';
import { filled } from './wording.ts';

/** The lines about the end of an iteration's run. */
export function runLines(event: RunEnded, state: LoopState, report: LoopReport): readonly string[] {
  const { ending, as } = event;
  const { run, iteration } = state.turn;
  const { wording } = state.policy;
  if (run?.id !== event.run) return [];
  const took = duration(event.at - (report.iterations.at(-1)?.workPlannedAt ?? event.at), ' ');
  const strays = strayLines(event);
  const notes = [...unparsedLines(run, state), ...strays];
  switch (as) {
    case 'ok':
    case 'wait': {
      const exit = ending.how === 'exited' ? (ending.code ?? 'unknown') : ending.how;
      const succeeded = as === 'ok' ? attemptLines(state, event, [wording.okRunLine]) : [];
      return [`iteration ${iteration} completed (exit: ${exit}, duration: ${took})`, ...succeeded, ...notes];
    }
    case 'usage-limit':
      return [usageLimitLine(event, state, run)];
    case 'outage': {
      const why = failureText(ending, as) ?? 'no answer';
      const wait = tooManyOutages(state) === null ? `, ${retryText(state, run)}` : '';
      return [
        ...attemptLines(state, event, [wording.transientRunLine]),
        `provider unavailable (${why})${wait}; ${NOT_COUNTED}`,
        ...strays,
      ];
    }
    case 'restart': {
      const restarts = run.output.claim === null ? ', restarting' : '';
      return [`${inactivityText(state)}${restarts}`, ...strays];
    }
    case 'interrupted':
      return [`iteration ${iteration} interrupted after ${took}`, ...strays];
    case 'fatal': {
      const line =
        wording.fatalRunLine ?? `iteration ${iteration} failed with an error that a retry cannot fix`;
      return attemptLines(state, event, [line]);
    }
    case 'failure':
      return [...failureLines(event, state, run, took), ...notes];
  }
}

type RunEnded = Extract<LoopEvent, { type: 'run.ended' }>;

/** Reported once the run has ended and no probe can still find a claim. */
export function nearMissLines(
  event: Extract<LoopEvent, { type: 'run.ended' | 'probe.finished' }>,
  state: LoopState,
): readonly string[] {
  const isForWork = event.type === 'run.ended' ? event.run === state.turn.run?.id : event.phase === 'after';
  const missed = missedClaim(state);
  if (!isForWork || missed === null || decide(state).some(({ type }) => type === 'probe')) return [];
  return [`${describeNearMiss('the agent', missed)}: the tag must be alone on a line of the last message`];
}

const NOT_COUNTED = 'not counted as an iteration';

function usageLimitLine(event: RunEnded, state: LoopState, run: Run): string {
  const { until } = waitAfter(state, run);
  // The end of the loop follows, and says why.
  if (resetsTooLate(state, until, statedReset(state, run)) !== null)
    return `usage limit reached; ${NOT_COUNTED}`;
  const wait = duration(secondsToWait(state, run) * 1000, ' ');
  const how = [wait, longerWaitText(state)].filter((part) => part !== null).join(', ');
  return `usage limit reached, waiting until ${clockTime(until, event.at)} (${how}); ${NOT_COUNTED}`;
}

function failureLine({ ending }: RunEnded, state: LoopState, run: Run, took: string): string {
  const { iteration } = state.turn;
  const attempt = `attempt ${ofLimit(state.failures.consecutive, state.policy.limits.failures)}`;
  const next = isLastTry(state) || mayStillClaim(state) ? '' : `, ${retryText(state, run)}`;
  return `iteration ${iteration} failed (${endingText(ending, state, took)})${next} (${attempt})`;
}

/** The lines of a document, where it prescribes some, and else ours. */
function failureLines(event: RunEnded, state: LoopState, run: Run, took: string): readonly string[] {
  const { failedRunLine, transientRunLine, timedOutRunLines } = state.policy.wording;
  if (failedRunLine === null) return [failureLine(event, state, run, took), ...reasonLines(event)];
  const timedOut = isTimeout(event.ending) ? timedOutRunLines : [];
  return attemptLines(state, event, [...timedOut, failedRunLine, transientRunLine]);
}

/** The lines when the loop waits after a failed run whose own line could not announce that yet. */
export function retryLines(effect: Effect, state: LoopState): readonly string[] {
  const { run } = state.turn;
  if (effect.type !== 'wait' || effect.why !== 'backoff' || run === null || run.ended === null) return [];
  const { wording, limits } = state.policy;
  const isLast = limits.iterations !== null && state.iteration >= limits.iterations;
  const lines = isTimeout(run.ended.ending) ? wording.restartAfterTimeoutLines : wording.restartLines;
  if (lines.length > 0) return isLast ? [] : attemptLines(state, run.ended, lines);
  return mayStillClaim(state) ? [retryText(state, run)] : [];
}

/** The lines of a document about a run, filled in. */
function attemptLines(
  { turn: { iteration }, policy: { limits, timeouts } }: LoopState,
  { ending, as }: Pick<RunEnded, 'ending' | 'as'>,
  lines: readonly (string | null)[],
): readonly string[] {
  const limit =
    ending.how === 'timed-out' && ending.which === 'inactivity' ? timeouts.inactivityMs : timeouts.runMs;
  const values = {
    attempt: String(iteration),
    restart: String(iteration - 1),
    next: ofLimit(iteration + 1, limits.iterations),
    code: ending.how === 'exited' ? String(ending.code ?? 'unknown') : ending.how,
    limit: exactDuration(limit ?? 0),
    reason: failureText(ending, as) ?? 'the agent cannot be run',
  };
  return lines.flatMap((line) => (line === null ? [] : [filled(line, values)]));
}

/** Whether the run took too long; one that printed too much did not. */
function isTimeout(ending: RunEnded['ending']): boolean {
  return ending.how === 'timed-out' && ending.which !== 'output';
}

function retryText(state: LoopState, run: Run): string {
  return `retrying in ${secondsToWait(state, run)}s`;
}

function secondsToWait(state: LoopState, run: Run): number {
  const until = capAtDeadline(state, waitAfter(state, run).until);
  return Math.max(0, Math.round((until - state.turn.at) / 1000));
}

function endingText(ending: RunEnded['ending'], state: LoopState, took: string): string {
  if (ending.how === 'exited') return `exit: ${ending.code ?? 'unknown'}`;
  if (ending.how !== 'timed-out') return ending.how;
  switch (ending.which) {
    case 'output':
      return `output limit exceeded after ${took}`;
    case 'inactivity':
      return inactivityText(state);
    case 'wall':
    case 'total':
      return `agent timeout after ${took}`;
  }
}

function inactivityText({ policy }: LoopState): string {
  return `inactivity timeout (${(policy.timeouts.inactivityMs ?? 0) / 1000}s)`;
}

function reasonLines({ ending }: RunEnded): readonly string[] {
  if (ending.how !== 'exited') return [];
  const killed = signalText(ending.code) === null ? null : `exit code ${exitCodeText(ending.code)}`;
  const reason = ending.error?.message ?? killed;
  return reason === null ? [] : [`reason: ${reason}`];
}

function unparsedLines({ id, output }: Run, { name }: LoopState): readonly string[] {
  const count = output.unknown ?? 0;
  if (count === 0) return [];
  return [
    `note: could not parse ${counted(count, 'line')} of the agent's output; see all of it with: ralph logs ${name} --run ${id} --raw`,
  ];
}

function strayLines({ strays = [] }: RunEnded): readonly string[] {
  return strays.map(
    ({ pid, command }) =>
      `warning: process ${pid} (${command}) may have been left behind by the agent; ralph did not stop it`,
  );
}
