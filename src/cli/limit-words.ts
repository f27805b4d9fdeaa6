import type { Control } from '../loop/event.ts';
import { duration } from '../loop/counted.ts';
import { counted } from '../loop/counted.ts';

/** The limits that were changed: `at most 7 iterations, no cost limit`. */
export function limitWords(limits: Limits): string {
  const { iterations, timeMs, costUsd, tokens, failures, unchanged, outputBytes } = limits;
  return [
    limitText(iterations, 'iteration', (maximum) => counted(maximum, 'iteration')),
    limitText(timeMs, 'time', (maximum) => `${duration(maximum, ' ')} of active time`),
    limitText(costUsd, 'cost', (maximum) => `$${maximum}`),
    limitText(tokens, 'token', (maximum) => counted(maximum, 'token')),
    limitText(failures, 'failure', (maximum) => counted(maximum, 'consecutive failure')),
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
