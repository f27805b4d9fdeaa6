import { spendsAfter, type IterationSpend } from '../journal/account.ts';
import { spentSoFar } from '../loop/limits.ts';
import type { Spend } from '../loop/state.ts';
import type { LoopReading } from './read-loop.ts';

export { addTokens } from '../loop/limits.ts';
export type { Spend } from '../loop/state.ts';

/** What a loop has used, with what its running agent has used so far: in all, and in the last few iterations. */
export function spendOf({ state, account }: Pick<LoopReading, 'state' | 'account'>): {
  readonly total: Spend;
  readonly iterations: readonly IterationSpend[];
} {
  return { total: spentSoFar(state), iterations: spendsAfter(account, state) };
}
