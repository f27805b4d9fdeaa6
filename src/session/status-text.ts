/** Where the loop of a session stands, in lines for people. */
import { duration } from '../loop/counted.ts';
import { counted } from '../loop/counted.ts';
import type { Policy } from '../loop/policy.ts';
import type { LoopReading } from '../store/read-loop.ts';
import { summaryOf } from '../views/loop-summary.ts';
import type { RalphLoopState } from './session-file.ts';

export function statusLines(state: RalphLoopState, found: LoopReading): readonly string[] {
  const { name, iterations, iterationLimit, status, waiting, reason, record } = summaryOf(found);
  const cost = record.costUsd === null ? [] : [`Cost so far: $${record.costUsd.toFixed(2)}`];
  const details = `Details: ralph status ${name}`;
  if (found.state.outcome !== null)
    return [
      `Ralph loop ${name} has ended after ${counted(iterations, 'iteration')}: ${reason ?? status}`,
      ...cost,
      details,
    ];
  const of = iterationLimit === null ? '' : ` of ${iterationLimit}`;
  const { policy } = found.state;
  const more = moreLimits(policy);
  return [
    `Ralph loop ${name}: ${status}, iteration ${Math.max(state.iteration, iterations)}${of}`,
    ...(waiting === null ? [] : [`Waiting for: ${waiting}`]),
    ...(more.length === 0 ? [] : [`Limits: ${more.join(', ')}`]),
    ...cost,
    ...record.failingChecks.map(({ command }) => `Failing check: ${command}`),
    `Done when the agent says <promise>${state.completionPromise}</promise>${afterChecks(policy)}`,
    details,
  ];
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
