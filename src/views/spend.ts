import { spentSoFar } from '../loop/limits.ts';
import { spendsWithOpenRun, type IterationSpend } from '../loop/report.ts';
import { openRun } from '../loop/run.ts';
import type { Spend } from '../loop/state.ts';
import type { LoopReading } from '../store/read-loop.ts';

/**
 * What a loop has used, with what its running agent has used so far: in all, and in the last few iterations. One that is
 * still at work may yet say what it costs.
 */
export function spendOf({ state, report }: Pick<LoopReading, 'state' | 'report'>): {
  readonly total: Spend;
  readonly iterations: readonly IterationSpend[];
} {
  const total = spentSoFar(state);
  const iterations = spendsWithOpenRun(report, state);
  const last = iterations.at(-1);
  if (openRun(state)?.output.cost !== null || last === undefined) return { total, iterations };
  return { total: oneLess(total), iterations: [...iterations.slice(0, -1), oneLess(last)] };
}

function oneLess<T extends Spend>(spend: T): T {
  return { ...spend, unknownRuns: spend.unknownRuns - 1 };
}
