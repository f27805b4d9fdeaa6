import { nameOf, nextItem, openItems, type KnownItem, type Plan, type PlanItem } from './items.ts';

/** What `ralph plan check` prints: the items that are left, by name, and then how many are done. */
export function checkText(file: string, plan: Plan, missing: readonly KnownItem[] = []): string {
  return [
    ...openItems(plan).map((item) => `open: ${nameOf(item)}${within(item)}`),
    ...missing.map(
      (item) => `missing: ${nameOf(item)} (open at the start, not in the plan now; put it back)`,
    ),
    countText(file, plan, missing.length),
  ].join('\n');
}

/** `PLAN.md: 3/7 done, 4 open`. */
function countText(file: string, plan: Plan, missing: number): string {
  const open = openItems(plan).length;
  const parts = [
    `${plan.items.length - open}/${plan.items.length} done`,
    ...(open === 0 ? [] : [`${open} open`]),
    ...(missing === 0 ? [] : [`${missing} missing`]),
  ];
  return `${file}: ${parts.join(', ')}`;
}

/** What `ralph plan show` prints: every item below the one that it is part of, with a mark at the next one. */
export function showText(file: string, plan: Plan): string {
  const next = nextItem(plan);
  return [
    ...plan.items.map((item) => {
      const mark = item === next ? '>' : ' ';
      return `${mark} ${'  '.repeat(ancestorsOf(item).length)}[${item.isDone ? 'x' : ' '}] ${nameOf(item)}`;
    }),
    countText(file, plan, 0),
  ].join('\n');
}

/** The items that an item is part of, from the outermost to the innermost. */
export function ancestorsOf(item: PlanItem): readonly PlanItem[] {
  const found: PlanItem[] = [];
  for (let above = item.parent; above !== null; above = above.parent) found.unshift(above);
  return found;
}

function within(item: PlanItem): string {
  const above = ancestorsOf(item).map(nameOf);
  return above.length === 0 ? '' : ` (in: ${above.join(' > ')})`;
}
