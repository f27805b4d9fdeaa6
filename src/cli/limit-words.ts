import { duration } from '../journal/times.ts';
import type { Control } from '../loop/event.ts';

/** The limits that somebody has changed: `at most 7 iterations, any cost`. */
export function limitWords(limits: Limits): string {
  const { iterations, timeMs, costUsd, tokens, failures, outputBytes } = limits;
  return [
    words(iterations, 'any number of iterations', (most) => plural(most, 'iteration')),
    words(timeMs, 'any time', (most) => `${duration(most, ' ')} at work`),
    words(costUsd, 'any cost', (most) => `$${most}`),
    words(tokens, 'any number of tokens', (most) => plural(most, 'token')),
    words(failures, 'any number of failures in a row', (most) => `${plural(most, 'failure')} in a row`),
    words(outputBytes, 'any output', (most) => `${plural(most, 'byte')} of output`),
  ]
    .filter((part) => part !== null)
    .join(', ');
}

type Limits = Extract<Control, { type: 'set' }>['limits'];

function words(most: number | null | undefined, any: string, tell: (most: number) => string): string | null {
  if (most === undefined) return null;
  return most === null ? any : `at most ${tell(most)}`;
}

function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}
