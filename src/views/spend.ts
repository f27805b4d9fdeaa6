import { isWholeCost } from '../loop/charge.ts';
import { spentSoFar } from '../loop/limits.ts';
import { spendsWithOpenRun, type IterationSpend } from '../loop/report.ts';
import { openRun } from '../loop/run.ts';
import type { Spend } from '../loop/state.ts';
import type { LoopReading } from '../store/read-loop.ts';

/**
 * What a loop has used, including the running agent: in total, and in the last few iterations. The running agent is not
 * counted as a run of unknown usage, since it may report its usage later.
 */
export function spendOf({ state, report }: Pick<LoopReading, 'state' | 'report'>): {
  readonly total: Spend;
  readonly iterations: readonly IterationSpend[];
} {
  const total = spentSoFar(state);
  const iterations = spendsWithOpenRun(report, state);
  const last = iterations.at(-1);
  const running = openRun(state)?.output;
  if (running === undefined || last === undefined) return { total, iterations };
  const withoutRunning = <T extends Spend>(spend: T): T => ({
    ...spend,
    unknownRuns: spend.unknownRuns - (isWholeCost(running.cost) ? 0 : 1),
    unknownTokenRuns: spend.unknownTokenRuns - (running.tokens === null ? 1 : 0),
  });
  return { total: withoutRunning(total), iterations: [...iterations.slice(0, -1), withoutRunning(last)] };
}
