/** What people read about the plan of a loop. */
import { withMore } from '../loop/counted.ts';
import type { LoopEvent } from '../loop/event.ts';
import { planCount, planText } from '../loop/plan.ts';
import type { LoopState } from '../loop/state.ts';
import type { EndRecord } from '../projections/end-record.ts';

/** The end of the line about a new iteration: `, plan 3/7`. */
export function planPart({ turn }: LoopState): string {
  const plan = turn.before?.plan;
  if (plan === undefined || plan.problem !== null) return '';
  const blocked = (plan.blocked?.length ?? 0) + (plan.moreBlocked ?? 0);
  return `, plan ${planCount(plan)}${blocked === 0 ? '' : `, ${blocked} blocked`}`;
}

/** What a run did to the plan. */
export function planLines({
  phase,
  plan,
}: Extract<LoopEvent, { type: 'probe.finished' }>): readonly string[] {
  if (plan === undefined || phase === 'before') return [];
  if (plan.problem !== null) return [`warning: ${plan.problem}`];
  if (plan.ticked.length === 0) return [];
  const names = withMore(plan.ticked, plan.moreTicked);
  return plan.changed === false
    ? [`plan ${planCount(plan)}, ticked without a change in the tree: ${names}`]
    : [`plan ${planCount(plan)}, ticked: ${names}`];
}

/** The rows of the final report, each with its label. */
export function planRows({ plan }: Pick<EndRecord, 'plan'>): readonly (readonly [string, string])[] {
  if (plan === null) return [];
  const { tickedAlone, moreTickedAlone } = plan;
  return [
    ['plan', `${plan.file}: ${planText(plan)}`],
    ...(tickedAlone.length === 0
      ? []
      : [['ticked', `without a change in the tree: ${withMore(tickedAlone, moreTickedAlone)}`] as const]),
  ];
}
