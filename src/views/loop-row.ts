/** What `ralph ls` prints about a loop. */
import { ofLimit } from '../loop/counted.ts';
import { planCount } from '../loop/plan.ts';
import { costOfLimit } from '../store/limit-use.ts';
import type { Mask } from '../store/mask.ts';
import type { LoopReading } from '../store/read-loop.ts';
import { summaryOf } from './loop-summary.ts';

/** The cells of one line, without secrets. */
export interface LoopRow {
  readonly name: string;
  readonly status: string;
  readonly iterations: string;
  /** What is used of the limit on cost; null without one. */
  readonly cost: string | null;
  /** Null without a plan. */
  readonly plan: string | null;
  readonly owner: string;
  /** Null without tags. */
  readonly tags: string | null;
  readonly workspace: string;
  readonly reason: string;
}

/** The row of a loop; `level` indents its name. */
export function rowOf(loop: LoopReading, mask: Mask, level: number): LoopRow {
  const { name, status, iterations, iterationLimit, owner, workspace, reason, waiting, warning, limits } =
    summaryOf(loop);
  const { plan } = loop.report;
  const { tags = [] } = loop.spec;
  return mask.value<LoopRow>({
    name: `${'  '.repeat(level)}${name}`,
    status,
    iterations: ofLimit(iterations, iterationLimit),
    cost: costOfLimit(limits),
    plan: plan === null ? null : planCount(plan),
    owner: owner === null ? '-' : String(owner),
    tags: tags.length === 0 ? null : tags.join(','),
    workspace,
    reason: [waiting === null ? (reason ?? []) : `waiting: ${waiting}`, warning ?? []].flat().join('; '),
  });
}
