/** The iterations of a loop in a row, each with a sign for how it ended. */
import { duration } from '../loop/counted.ts';
import type { IterationReport } from '../loop/iteration-report.ts';
import { costText } from '../loop/report.ts';
import type { LoopView } from '../loops/loops.ts';

export type IterationMark = 'green' | 'red' | 'failed' | 'limit' | 'none' | 'open';

export interface StripPart {
  readonly iteration: number;
  readonly mark: IterationMark;
  /** `7✗`: it says without a colour what the colour says. */
  readonly text: string;
  readonly durationText: string;
  readonly costText: string;
}

/** The last iterations that a view of a loop knows, the first one first. */
export function iterationStrip({ report, state, doing }: LoopView, now: number): readonly StripPart[] {
  const { iterations } = report;
  return iterations.map((one, index) => {
    const next = iterations[index + 1];
    const isOpen = next === undefined && state.outcome === null && doing !== null;
    const end = next?.startedAt ?? (isOpen ? now : state.now);
    const mark = isOpen ? 'open' : markOf(one);
    return {
      iteration: one.iteration,
      mark,
      text: `${one.iteration}${SIGNS[mark]}`,
      durationText: duration(Math.max(0, end - one.startedAt), ' '),
      costText: costText(one.cost, one.costIsKnown),
    };
  });
}

function markOf({ error, allChecksPassed, checkResults }: IterationReport): IterationMark {
  if (checkResults.some(({ passed }) => !passed)) return 'red';
  if (error !== null) return /\b(?:usage|rate) limit\b/.test(error) ? 'limit' : 'failed';
  return allChecksPassed ? 'green' : 'none';
}

const SIGNS: Readonly<Record<IterationMark, string>> = {
  green: '✓',
  red: '✗',
  failed: '!',
  limit: 'L',
  none: '·',
  open: '…',
};

/** What the signs mean. */
export const STRIP_LEGEND =
  '✓ every check passed  ✗ a check failed  ! the run failed  L usage limit  · no check ran  … runs now';
