/** Reads what `ralph ls` prints about a loop. */
import { isSettled, stampOf } from '../files/stamp.ts';
import { ofLimit } from '../loop/counted.ts';
import { planCount } from '../loop/plan.ts';
import { costOfLimit } from '../store/limit-use.ts';
import { masks, type Mask } from '../store/mask.ts';
import { readLoopAt, type LoopReading } from '../store/read-loop.ts';
import { filesOfAnswers } from '../store/remembered.ts';
import { LoopFolder, type LoopKey } from '../store/store.ts';
import { isLasting } from './lasting.ts';
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

interface ReadRow {
  readonly row: LoopRow;
  /** The stamp of the files that say the same until it changes; null if the row may change before. */
  readonly stamp: string | null;
}

/** Reads the rows of loops; null for what is no loop. */
export function rowReader(): (key: LoopKey) => ReadRow | null {
  const mask = masks();
  return (key) => {
    const folder = new LoopFolder(key);
    const now = Date.now();
    // Before anything is read: if a file changes meanwhile, its next stamp is another.
    const stamp = stampOf(filesOfAnswers(folder.path));
    const loop = readLoopAt(folder);
    if (loop === null) return null;
    const row = cellsOf(loop);
    const masked = withMask(row, mask(loop.spec));
    const isSame = Object.values(row).join('\n') === Object.values(masked).join('\n');
    const lasts = stamp !== null && isSettled(stamp, now) && isSame && isLasting(loop);
    return { row: masked, stamp: lasts ? stamp.text : null };
  };
}

/** The row of a loop that was read; `level` indents its name. */
export function rowOf(loop: LoopReading, mask: Mask, level: number): LoopRow {
  return withMask(cellsOf(loop, level), mask);
}

function cellsOf(loop: LoopReading, level = 0): LoopRow {
  const { name, status, iterations, iterationLimit, owner, workspace, reason, waiting, warning, limits } =
    summaryOf(loop);
  const { plan } = loop.report;
  const { tags = [] } = loop.spec;
  return {
    name: `${'  '.repeat(level)}${name}`,
    status,
    iterations: ofLimit(iterations, iterationLimit),
    cost: costOfLimit(limits),
    plan: plan === null ? null : planCount(plan),
    owner: owner === null ? '-' : String(owner),
    tags: tags.length === 0 ? null : tags.join(','),
    workspace,
    reason: [waiting === null ? (reason ?? []) : `waiting: ${waiting}`, warning ?? []].flat().join('; '),
  };
}

/** A row without secrets. */
export function withMask(row: LoopRow, mask: Mask): LoopRow {
  const { cost, plan, tags } = row;
  return {
    name: mask.text(row.name),
    status: mask.text(row.status),
    iterations: mask.text(row.iterations),
    cost: cost === null ? null : mask.text(cost),
    plan: plan === null ? null : mask.text(plan),
    owner: mask.text(row.owner),
    tags: tags === null ? null : mask.text(tags),
    workspace: mask.text(row.workspace),
    reason: mask.text(row.reason),
  };
}
