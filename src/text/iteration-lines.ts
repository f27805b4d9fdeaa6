import { costText } from '../loop/report.ts';
import type { LoopResult } from '../loops/result.ts';

/** One line per iteration, as document 002 prescribes. */
export function iterationLines({ iterations }: LoopResult): readonly string[] {
  return iterations.map((one) => {
    const verdict = `[${one.allChecksPassed ? 'PASS' : 'FAIL'}]${one.completionTagFound ? ' [TAG]' : ''}`;
    return `  Iter ${one.iteration}: ${verdict} steps=${one.stepsTaken} cost=${costText(one.cost, one.costIsKnown)}`;
  });
}
