/** What the person in a session reads of its loop: one line with the answer to each step, and where the loop stands. */
import { decide } from '../loop/decide.ts';
import { counted, duration } from '../loop/counted.ts';
import type { Policy } from '../loop/policy.ts';
import type { LoopState } from '../loop/state.ts';
import { clockTime } from './times.ts';
import type { EndRecord } from '../projections/end-record.ts';
import type { LoopSummary } from '../loops/summary.ts';
import type { Answer } from '../session/answer.ts';
import type { RalphLoopState } from '../session/session-file.ts';

export function continued(
  state: RalphLoopState,
  prompt: string,
  failing: readonly { readonly command: string }[],
): Answer {
  const rejected = failing.map(({ command }) => command);
  const at = `Ralph loop: iteration ${state.iteration} of ${state.maxIterations}`;
  const why =
    rejected.length === 0 ? '' : `; the promise was rejected, because a check failed: ${rejected.join(', ')}`;
  return { type: 'continue', prompt, rejected, state, message: `${at}${why}` };
}

export function ended(
  state: RalphLoopState,
  { outcome, iterations, reason, name, costUsd }: EndRecord,
): Answer {
  const type = outcome?.type ?? 'stopped';
  const cost = costUsd === null ? '' : `, $${costUsd.toFixed(2)}`;
  const details = type === 'done' || type === 'stopped' ? '' : `. Details: ralph story ${name}`;
  const message = `Ralph loop ${name} ended after ${counted(iterations, 'iteration')}${cost}: ${reason}${details}`;
  return { type: 'ended', outcome: type, state, message };
}

/** For a loop that `ralph rm` has removed, or in whose place another one was started under its name. */
export function removed(state: RalphLoopState, loop: string): Answer {
  const message = `Ralph loop ${loop} was removed; this session has no loop any more`;
  return { type: 'ended', outcome: 'stopped', state, message };
}

/** For a loop that another process is about to stop. */
export function stopping(state: RalphLoopState): Answer {
  return { type: 'waiting', state, message: 'Ralph loop: being stopped' };
}

export function waiting(state: RalphLoopState, loop: LoopState, name: string, now: number): Answer {
  return { type: 'waiting', state, message: `Ralph loop: ${whyItRests(loop, name, now)}` };
}

/** Where the loop of a session stands. */
export function statusLines(
  state: RalphLoopState,
  { outcome, policy }: LoopState,
  summary: LoopSummary,
): readonly string[] {
  const { name, iterations, iterationLimit, status, waiting: why, reason, record } = summary;
  const cost = record.costUsd === null ? [] : [`Cost so far: $${record.costUsd.toFixed(2)}`];
  const details = `Details: ralph status ${name}`;
  if (outcome !== null)
    return [
      `Ralph loop ${name} has ended after ${counted(iterations, 'iteration')}: ${reason ?? status}`,
      ...cost,
      details,
    ];
  const of = iterationLimit === null ? '' : ` of ${iterationLimit}`;
  const more = moreLimits(policy);
  return [
    `Ralph loop ${name}: ${status}, iteration ${Math.max(state.iteration, iterations)}${of}`,
    ...(why === null ? [] : [`Waiting for: ${why}`]),
    ...(more.length === 0 ? [] : [`Limits: ${more.join(', ')}`]),
    ...cost,
    ...record.failingChecks.map(({ command }) => `Failing check: ${command}`),
    `Done when the agent says <promise>${state.completionPromise}</promise>${afterChecks(policy)}`,
    details,
  ];
}

function whyItRests(loop: LoopState, name: string, now: number): string {
  if (loop.control.paused)
    return `paused; to continue it, run "ralph resume ${name}" in a terminal and type anything here`;
  const wait = decide(loop).find((effect) => effect.type === 'wait');
  if (wait?.why === 'answer')
    return `the agent has a question: ${loop.questions[0]?.text ?? ''}; answer it in a terminal with: ralph answer ${name} "…"`;
  if (wait?.why === 'usage-limit') {
    const until = wait.until === null ? '' : ` until ${clockTime(wait.until, now)}`;
    return `usage limit${until}; after that, type anything to continue the loop`;
  }
  return 'the turn ended with an error; type anything to continue the loop, or /cancel-ralph';
}

function moreLimits({ limits: { timeMs, costUsd, tokens } }: Policy): readonly string[] {
  return [
    ...(timeMs === null ? [] : [`${duration(timeMs, ' ')} of active time`]),
    ...(costUsd === null ? [] : [`$${costUsd}`]),
    ...(tokens === null ? [] : [counted(tokens, 'token')]),
  ];
}

function afterChecks({ checks: { commands } }: Policy): string {
  if (commands.length === 0) return '';
  const all = commands.map(({ command }) => command).join(', ');
  return commands.length === 1 ? ` and this check passes: ${all}` : ` and these checks pass: ${all}`;
}
