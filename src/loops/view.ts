import { familyNow } from '../home/family.ts';
import { maskOf } from '../home/mask.ts';
import { NOTHING_KNOWN } from '../loop/report.ts';
import { endRecord, type ChildRecord } from '../projections/end-record.ts';
import { readLoopOf, type LoopReading } from '../home/read-loop.ts';
import { aboutOf } from './about.ts';
import { doingOf } from './doing.ts';
import { summaryOf, type LoopSummary } from './summary.ts';
import { refOf } from './find.ts';
import type { LoopView } from './loops.ts';

/** A loop as it stands, without secrets, with what its family has spent by now. */
export function viewOf(loop: LoopReading): LoopView {
  const { spec, folder, trouble } = loop;
  const summary = summaryOf(loop);
  const { state, report } = summary.status === 'unreadable' ? NOTHING_KNOWN : loop;
  return maskOf(spec).value<LoopView>({
    ...refOf(loop),
    summary,
    spec: spec.created === '' ? null : spec,
    state: { ...state, family: familyNow(spec, state) },
    report,
    children: childrenNow(loop),
    about: aboutOf(loop),
    doing: summary.status === 'unreadable' ? null : doingOf(loop),
    folder: folder.path,
    trouble,
  });
}

/** A child loop as it is now. An ended parent records nothing more, and a child may be resumed. */
export interface ChildNow extends Omit<ChildRecord, 'status'> {
  readonly status: ChildRecord['status'] | LoopSummary['status'];
  /** Null if its files are gone. */
  readonly iterations: number | null;
  readonly iterationLimit: number | null;
}

function childrenNow({ state, report, spec }: LoopReading): readonly ChildNow[] {
  return endRecord(state, report, spec).children.map(now);
}

function now(record: ChildRecord): ChildNow {
  const loop = readLoopOf(record.id);
  if (loop === null) return { ...record, iterations: null, iterationLimit: null };
  const { status, iterations, iterationLimit } = summaryOf(loop);
  return { ...record, status, iterations, iterationLimit };
}
