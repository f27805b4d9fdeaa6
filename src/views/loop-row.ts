/** What `ralph ls` prints about a loop. */
import { counted, ofLimit } from '../loop/counted.ts';
import type { FamilyCount } from '../loop/event.ts';
import { planCount } from '../loop/plan.ts';
import { costOfLimit, type LimitUse } from '../loop/limit-use.ts';
import type { Mask } from '../store/mask.ts';
import type { LoopReading } from '../store/read-loop.ts';
import { summaryOf } from './loop-summary.ts';

/** The cells of one line, without secrets. */
export interface LoopRow {
  readonly name: string;
  readonly status: string;
  readonly iterations: string;
  /** What is used of the limit on cost, and what of it by children; null if there is neither. */
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
  const {
    name,
    status,
    iterations,
    iterationLimit,
    owner,
    workspace,
    reason,
    waiting,
    warning,
    limits,
    family,
  } = summaryOf(loop);
  const { plan } = loop.report;
  const { tags = [] } = loop.spec;
  return mask.value<LoopRow>({
    name: `${'  '.repeat(level)}${name}`,
    status,
    iterations: ofLimit(iterations, iterationLimit),
    cost: costCell(limits, family?.below ?? null),
    plan: plan === null ? null : planCount(plan),
    owner: owner === null ? '-' : String(owner),
    tags: tags.length === 0 ? null : tags.join(','),
    workspace,
    reason: [waiting === null ? (reason ?? []) : `waiting: ${waiting}`, warning ?? []].flat().join('; '),
  });
}

/** What is used of the limit on cost, and what of it by children; null if there is neither. */
function costCell(limits: readonly LimitUse[], below: FamilyCount['below'] | null): string | null {
  const used = costOfLimit(limits);
  if (below === null || below.usd === 0) return used;
  const theirs = `$${below.usd.toFixed(2)} by ${counted(below.loops, 'child', 'children')}`;
  return used === null ? theirs : `${used}, of it ${theirs}`;
}
