import { spentSoFar } from '../loop/limits.ts';
import { spendsWithOpenRun, type IterationSpend } from '../loop/report.ts';
import { openRun } from '../loop/run.ts';
import type { Spend } from '../loop/state.ts';
import type { LoopReading } from '../store/read-loop.ts';

/**
 * What a loop has used, including the running agent: in total, and in the last few iterations. The running agent is not
 * counted as a run of unknown cost, since it may report its cost later.
 */
export function spendOf({ state, report }: Pick<LoopReading, 'state' | 'report'>): {
  readonly total: Spend;
  readonly iterations: readonly IterationSpend[];
} {
  const total = spentSoFar(state);
  const iterations = spendsWithOpenRun(report, state);
  const last = iterations.at(-1);
  if (openRun(state)?.output.cost !== null || last === undefined) return { total, iterations };
  return { total: withoutRunning(total), iterations: [...iterations.slice(0, -1), withoutRunning(last)] };
}

function withoutRunning<T extends Spend>(spend: T): T {
  return { ...spend, unknownRuns: spend.unknownRuns - 1 };
}
