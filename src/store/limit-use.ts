/** How much of a limit is used, as people read it. */
import { duration } from '../journal/times.ts';
import type { NearedLimit } from '../loop/policy.ts';

/** `$1.20 of $5.00`, `81000 of 100000 tokens`, `48m 0s of 1h 0m`. */
export function limitUse(limit: NearedLimit, used: number, of: number): string {
  switch (limit) {
    case 'costUsd':
      return `${dollars(used, of)} of ${dollars(of, of)}`;
    case 'tokens':
      return `${used} of ${of} tokens`;
    case 'timeMs':
      return `${duration(used, ' ')} of ${duration(of, ' ')}`;
  }
}

/** Cents say nothing about a small limit. */
function dollars(usd: number, limit: number): string {
  return `$${usd.toFixed(limit < 1 ? 4 : 2)}`;
}

/** `82 % of the cost limit used: $4.10 of $5.00`. */
export function nearedText({
  limit,
  used,
  of,
}: {
  readonly limit: NearedLimit;
  readonly used: number;
  readonly of: number;
}): string {
  const percent = Math.floor((used / of) * 100 + 1e-6);
  return `${percent} % of the ${NAMES[limit]} limit used: ${limitUse(limit, used, of)}`;
}

const NAMES: Readonly<Record<NearedLimit, string>> = { costUsd: 'cost', tokens: 'token', timeMs: 'time' };
