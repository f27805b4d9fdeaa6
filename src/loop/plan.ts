/** The plan of a loop as the core knows it: what a probe has read, and how people and agents are told. */

import { withMore } from './counted.ts';

/** What a probe found in the plan. Names and texts are cut. */
export interface PlanProbe {
  readonly done: number;
  readonly total: number;
  /** Items that were open when the loop started and are not in the plan any more. */
  readonly missing: number;
  /** The first open item without open sub-items; null if none is open. */
  readonly next: NextItem | null;
  /** With a limit of attempts per item: the first few open items that are blocked, and how many more there are. */
  readonly blocked?: readonly string[];
  readonly moreBlocked?: number;
  /** The keys of the items that were the next one and are done now. */
  readonly finished?: readonly string[];
  /** After a run: the first few items that were open before it and are done now, and how many more there are. */
  readonly ticked: readonly string[];
  readonly moreTicked: number;
  /** After a run that ticked items: whether anything but the plan changed in the tree; null if that is unknown. */
  readonly changed: boolean | null;
  /** Why the plan cannot be read; null if it was. */
  readonly problem: string | null;
}

export interface NextItem {
  readonly name: string;
  /** The items that it is part of, from the outermost. */
  readonly within: readonly string[];
  /** What the plan says about it, as Markdown. */
  readonly details: string;
  /** What recognises it in other iterations; absent without a limit of attempts. */
  readonly key?: string;
}

/** What people want to know about a plan. */
export interface PlanReport {
  readonly file: string;
  readonly done: number;
  readonly total: number;
  readonly missing: number;
  /** The name of the next open item; null if none is open. */
  readonly next: string | null;
  readonly problem: string | null;
  /** The blocked items; absent if there are none. */
  readonly blocked?: readonly string[];
  readonly moreBlocked?: number;
  /** Items that were ticked in iterations that changed nothing else in the tree: the first few, and how many more. */
  readonly tickedAlone: readonly string[];
  readonly moreTickedAlone: number;
}

/** The report after one more probe. */
export function planReport(
  before: PlanReport | null,
  file: string,
  {
    done,
    total,
    missing,
    next,
    problem,
    ticked,
    moreTicked,
    changed,
    blocked = [],
    moreBlocked = 0,
  }: PlanProbe,
): PlanReport {
  const earlier = before?.tickedAlone ?? [];
  const isAlone = changed === false;
  const names = isAlone ? [...earlier, ...ticked.filter((name) => !earlier.includes(name))] : earlier;
  const beyond = Math.max(0, names.length - KEPT_NAMES) + (isAlone ? moreTicked : 0);
  return {
    file,
    // A plan that cannot be read now says nothing about its items.
    ...(problem === null
      ? { done, total, missing, next: next?.name ?? null }
      : { done: before?.done ?? 0, total: before?.total ?? 0, missing: before?.missing ?? 0, next: null }),
    problem,
    ...(blocked.length === 0 ? {} : { blocked, moreBlocked }),
    tickedAlone: names.slice(0, KEPT_NAMES),
    moreTickedAlone: (before?.moreTickedAlone ?? 0) + beyond,
  };
}

const KEPT_NAMES = 20;

/** `3/7`. */
export function planCount({ done, total }: Pick<PlanProbe, 'done' | 'total'>): string {
  return `${done}/${total}`;
}

/** `3/7 done, 1 missing, next: Write the docs`. */
export function planText(plan: Omit<PlanReport, 'file' | 'tickedAlone' | 'moreTickedAlone'>): string {
  if (plan.problem !== null) return plan.problem;
  return [
    `${planCount(plan)} done`,
    ...(plan.missing === 0 ? [] : [`${plan.missing} missing`]),
    ...(plan.next === null ? [] : [`next: ${plan.next}`]),
    ...(plan.blocked === undefined ? [] : [`blocked: ${withMore(plan.blocked, plan.moreBlocked ?? 0)}`]),
  ].join(', ');
}

const NONE_OPEN = 'No item is open.';
const MISSING =
  'Items that were open when the loop started are not in the plan any more: put them back, and mark them as done when they are.';
const MISSING_ONE =
  'An item that was open when the loop started is not in the plan any more: put it back, and mark it as done when it is.';

const BLOCKED = 'Blocked, because earlier iterations did not finish them; do not work on them:';

/** The section of a prompt about the plan. */
export function planSection(file: string, plan: PlanProbe): string {
  if (plan.problem !== null)
    return ['## Plan', '', `Ralph cannot read the plan: ${plan.problem}. Put it back as it was.`].join('\n');
  const count = `${file}: ${planCount(plan)} done${plan.missing === 0 ? '' : `, ${plan.missing} missing`}.`;
  if (plan.next === null)
    return [
      '## Plan',
      '',
      `${count} ${plan.missing === 0 ? NONE_OPEN : plan.missing === 1 ? MISSING_ONE : MISSING}`,
    ].join('\n');
  const { name, within, details } = plan.next;
  const { blocked = [], moreBlocked = 0 } = plan;
  return [
    '## Plan',
    '',
    `${count} Work on the next open item:`,
    '',
    [...within, name].join(' > '),
    ...(details === '' ? [] : ['', details]),
    ...(blocked.length === 0 ? [] : ['', `${BLOCKED} ${withMore(blocked, moreBlocked)}`]),
    '',
    `Mark an item in ${file} as done only when it is. Keep the text of the others: an item that was open when the loop started and is removed or renamed counts as missing.`,
  ].join('\n');
}
