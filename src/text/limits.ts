/** Limits as people read them. */
import { counted, duration } from '../loop/counted.ts';
import type { Control } from '../loop/event.ts';
import type { LimitChange } from '../loop/limit-changes.ts';
import type { Policy } from '../loop/policy.ts';

/** The limits that were changed: `at most 7 iterations, no cost limit`. */
export function limitWords(limits: Limits): string {
  const { iterations, timeMs, costUsd, tokens, failures, unchanged, outputBytes } = limits;
  const { limitWaits, attemptsPerItem } = limits;
  return [
    limitText(iterations, 'iteration', (maximum) => counted(maximum, 'iteration')),
    limitText(timeMs, 'time', (maximum) => `${duration(maximum, ' ')} of active time`),
    limitText(costUsd, 'cost', (maximum) => `$${maximum}`),
    limitText(tokens, 'token', (maximum) => counted(maximum, 'token')),
    limitText(failures, 'failure', (maximum) => counted(maximum, 'consecutive failure')),
    limitText(limitWaits, 'wait', (maximum) => `${counted(maximum, 'wait')} for a usage limit`),
    limitText(
      attemptsPerItem,
      'attempt',
      (maximum) => `${counted(maximum, 'iteration')} per item of the plan`,
    ),
    limitText(
      unchanged === null ? null : unchanged?.end,
      'progress',
      (maximum) => `${counted(maximum, 'iteration')} without progress`,
    ),
    limitText(outputBytes, 'output', (maximum) => `${counted(maximum, 'byte')} of output per run`),
  ]
    .filter((part) => part !== null)
    .join(', ');
}

type Limits = Extract<Control, { type: 'set' }>['limits'];

function limitText(
  maximum: number | null | undefined,
  kind: string,
  describe: (maximum: number) => string,
): string | null {
  if (maximum === undefined) return null;
  return maximum === null ? `no ${kind} limit` : `at most ${describe(maximum)}`;
}

/** A changed limit: `at most 20 iterations instead of 10 (ralph set, in iteration 3)`. */
export function limitChangeText({ limit, from, to, by, iteration }: LimitChange): string {
  const words = (value: number | null): string =>
    limitWords(
      limit === 'unchanged'
        ? { unchanged: value === null ? null : { nudge: null, end: value } }
        : { [limit]: value },
    );
  const when = iteration === 0 ? 'before the first iteration' : `in iteration ${iteration}`;
  return `${words(to)}, before: ${words(from)} (${by}, ${when})`;
}

/** The limits of a policy that are set; the number of iterations is always one of them. */
export function givenLimits({ limits }: Policy): Limits {
  const { iterations, timeMs, costUsd, tokens } = limits;
  return {
    iterations,
    ...(timeMs === null ? {} : { timeMs }),
    ...(costUsd === null ? {} : { costUsd }),
    ...(tokens === null ? {} : { tokens }),
  };
}
