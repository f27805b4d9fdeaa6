import { endRecord, type ChildRecord } from '../store/end-record.ts';
import { readLoopOf, type LoopReading } from '../store/read-loop.ts';
import { summaryOf, type LoopSummary } from './loop-summary.ts';

/** A child loop as it is now. An ended parent records nothing more, and a child may be resumed. */
export interface ChildNow extends Omit<ChildRecord, 'status'> {
  readonly status: ChildRecord['status'] | LoopSummary['status'];
  /** Null if its files are gone. */
  readonly iterations: number | null;
  readonly iterationLimit: number | null;
}

export function childrenNow({ state, report, spec }: LoopReading): readonly ChildNow[] {
  return endRecord(state, report, spec).children.map(now);
}

function now(record: ChildRecord): ChildNow {
  const loop = readLoopOf(record.id);
  if (loop === null) return { ...record, iterations: null, iterationLimit: null };
  const { status, iterations, iterationLimit } = summaryOf(loop);
  return { ...record, status, iterations, iterationLimit };
}
