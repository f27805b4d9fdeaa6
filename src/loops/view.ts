import { familyNow } from '../store/family.ts';
import { maskOf } from '../store/mask.ts';
import { NOTHING_KNOWN } from '../loop/report.ts';
import type { LoopReading } from '../store/read-loop.ts';
import { childrenNow } from '../views/children-now.ts';
import { summaryOf } from '../views/loop-summary.ts';
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
    state: { ...state, family: familyNow(spec, state) },
    report,
    children: childrenNow(loop),
    folder: folder.path,
    trouble,
  });
}
