/** The list of `ralph watch`: the cells of `ralph ls`, and what each loop does at this moment. */
import type { LoopRow } from '../loops/list.ts';
import type { LoopView } from '../loops/loops.ts';
import { cellsOf } from './list.ts';
import { brief, visible } from './one-line.ts';
import { agoText } from './status.ts';
import { timeLeft } from './waits.ts';

export interface WatchRow {
  readonly row: LoopRow;
  /** The same loop as its view has it; null if it was not asked for. */
  readonly view: LoopView | null;
  /** How many of its ancestors are listed above it. */
  readonly level: number;
  /** How many loops are folded below it. */
  readonly folded: number;
}

/** Rows of cells, below a head; columns that no loop needs are left out, and on a narrow terminal others too. */
export function watchTable(
  rows: readonly WatchRow[],
  { width, now, hasRepository }: WatchLook,
): readonly (readonly string[])[] {
  const cells = rows.map((one) => {
    const { row, level, folded } = one;
    const of = cellsOf(row, level, width, now);
    return {
      ...of,
      name: folded === 0 ? of.name : `${of.name} +${folded}`,
      repository: visible(row.workspace.split('/').at(-1) ?? ''),
      now: nowText(one, now),
    };
  });
  const shown = COLUMNS.filter(
    ({ of, from, isAlways = false }) =>
      width >= from &&
      (of !== 'repository' || hasRepository) &&
      (isAlways || cells.some((one) => one[of] !== '')),
  );
  return [
    shown.map(({ head }) => head),
    ...cells.map((one) => shown.map(({ of }) => (one[of] === '' && of !== 'now' ? '-' : one[of]))),
  ];
}

export interface WatchLook {
  readonly width: number;
  readonly now: number;
  /** Whether the loops of several repositories are listed. */
  readonly hasRepository: boolean;
}

interface Column {
  readonly of:
    | 'name'
    | 'repository'
    | 'state'
    | 'iterations'
    | 'checks'
    | 'cost'
    | 'age'
    | 'branch'
    | 'agent'
    | 'now';
  readonly head: string;
  /** The columns that a terminal must have for it. */
  readonly from: number;
  readonly isAlways?: true;
}

const COLUMNS: readonly Column[] = [
  { of: 'name', head: 'NAME', from: 0, isAlways: true },
  { of: 'repository', head: 'REPO', from: 0 },
  { of: 'state', head: 'STATE', from: 0, isAlways: true },
  { of: 'iterations', head: 'ITER', from: 0, isAlways: true },
  { of: 'checks', head: 'CHECKS', from: 0 },
  { of: 'cost', head: 'COST', from: 0 },
  { of: 'age', head: 'AGE', from: 110 },
  { of: 'agent', head: 'AGENT', from: 130 },
  { of: 'branch', head: 'BRANCH', from: 110 },
  { of: 'now', head: 'NOW', from: 0, isAlways: true },
];

/** What a loop waits for and how long still, which tool its agent uses and since when, or why it does not run. */
export function nowText({ row, view }: Doing, now: number): string {
  const [question] = row.questions ?? [];
  if (question !== undefined) return `asks: ${visible(brief(question.text))}`;
  if (row.status !== 'running' && row.status !== 'in-session')
    return visible(brief(row.reason ?? row.waiting ?? ''));
  if (row.waiting !== null)
    return visible((view === null ? null : timeLeft(view.state, now)) ?? brief(row.waiting));
  const doing = view?.doing ?? null;
  return doing === null ? '' : `${visible(brief(doing.what))} ${agoText(now - doing.since)}`;
}

interface Doing {
  readonly row: Pick<LoopRow, 'status' | 'questions' | 'reason' | 'waiting'>;
  readonly view: Pick<LoopView, 'state' | 'doing'> | null;
}

/** One sentence, for a person who hears the list. */
export function spokenRow({ row, view }: Pick<WatchRow, 'row' | 'view'>): string {
  const { state, iterations, checks, cost } = cellsOf(row, 0, 0, 0);
  const doing = view?.doing ?? null;
  const parts = [
    state,
    `iteration ${iterations}`,
    ...(checks === '' ? [] : [`checks: ${checks}`]),
    ...(cost === '' ? [] : [`cost ${cost}`]),
    ...(doing === null || row.status !== 'running' ? [] : [visible(brief(doing.what))]),
  ];
  return `${visible(row.name)}: ${parts.join(', ')}`;
}
