/** The line at the bottom of a terminal while a loop runs. */
import { duration, ofLimit } from '../loop/counted.ts';
import { costOfLimit, usesOfLimits } from '../loop/limit-use.ts';
import { planCount } from '../loop/plan.ts';
import type { LoopReport } from '../loop/report.ts';
import type { LoopState } from '../loop/state.ts';
import { timeLeft } from './waits.ts';

/** What the status line says, from the most important to the least; the agent has last said something at `activeAt`. */
export function statusParts(
  state: LoopState,
  report: LoopReport | null,
  { now, activeAt }: { readonly now: number; readonly activeAt: number },
): readonly string[] {
  const { iteration, turn, policy } = state;
  const started = report?.startedAt ?? state.now;
  const passed = turn.checks.filter((result) => result?.code === 0).length;
  const waiting = timeLeft(state, now);
  const plan = report?.plan ?? null;
  const count = `iteration ${ofLimit(iteration, policy.limits.iterations)}`;
  return [
    ...(waiting === null ? [count] : [waiting, count]),
    duration(Math.max(0, now - started), ' '),
    costOfLimit(usesOfLimits(state, 0)),
    waiting === null ? `last activity ${duration(Math.max(0, now - activeAt), ' ')} ago` : null,
    plan === null ? null : `plan ${planCount(plan)}`,
    turn.checksStarted ? `checks ${passed}/${turn.checks.length}` : null,
  ].filter((part) => part !== null);
}

/**
 * The status line of a loop: its name, then `parts` from the most important to the least. A long name is shortened, so that
 * the first part is never cut on a terminal of usual width.
 */
export function statusLine(name: string, parts: readonly string[], room: number): string {
  const text = parts.join(' · ');
  const left = Math.max(LEAST_NAME_LENGTH, room - text.length - ': '.length);
  const shown = name.length <= left ? name : `${name.slice(0, left - 1)}…`;
  return `${shown}: ${text}`.slice(0, Math.max(0, room));
}

/** A shorter name says nothing. */
const LEAST_NAME_LENGTH = 12;
