export interface Plan {
  /** In the order of work. */
  readonly items: readonly PlanItem[];
  /** What the plan says about an item, as Markdown: its text, sub-items and acceptance criteria. */
  detailsOf(item: PlanItem): string;
}

export interface PlanItem {
  /** Of a user story; null for a checkbox. */
  readonly id: string | null;
  readonly title: string;
  readonly isDone: boolean;
  /** The item that this one is part of; null at the top. */
  readonly parent: PlanItem | null;
}

/** An item as it is remembered: what recognises it later, and whether it was done. */
export interface KnownItem {
  readonly id: string | null;
  readonly title: string;
  readonly isDone: boolean;
}

/** A plan as far as its items are compared. */
interface KnownItems {
  readonly items: readonly KnownItem[];
}

/** The name of an item for people: `US-001 Add the table`. */
export function nameOf({ id, title }: Pick<KnownItem, 'id' | 'title'>): string {
  return id === null ? title : `${id} ${title}`;
}

/** The items that are open. */
export function openItems({ items }: Plan): readonly PlanItem[] {
  return items.filter(({ isDone }) => !isDone);
}

/** The item to work on: the first open one that has no open sub-items; null if all are done. */
export function nextItem(plan: Plan): PlanItem | null {
  const open = openItems(plan);
  const parents = new Set<PlanItem>();
  for (const { parent } of open) {
    for (let above = parent; above !== null && !parents.has(above); above = above.parent) parents.add(above);
  }
  return open.find((item) => !parents.has(item)) ?? null;
}

/**
 * The items that were open and are gone: an item is recognised by its id, or by its title if it has none. Of items with the
 * same title, as many are missing as there are fewer now.
 */
export function missingItems(before: readonly KnownItem[], { items }: KnownItems): readonly KnownItem[] {
  const known = counts(before);
  const now = counts(items);
  const left = new Map([...known].map(([key, count]) => [key, count - (now.get(key) ?? 0)]));
  return before.filter((item) => !item.isDone && takeOne(left, keyOf(item)));
}

/** The items that were open before and are done now. */
export function tickedItems(before: readonly KnownItem[], { items }: KnownItems): readonly KnownItem[] {
  const isDone = (item: KnownItem): boolean => item.isDone;
  const earlier = counts(before.filter(isDone));
  const done = counts(items.filter(isDone));
  const left = new Map([...done].map(([key, count]) => [key, count - (earlier.get(key) ?? 0)]));
  return before.filter((item) => !item.isDone && takeOne(left, keyOf(item)));
}

function counts(items: readonly KnownItem[]): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const item of items) found.set(keyOf(item), (found.get(keyOf(item)) ?? 0) + 1);
  return found;
}

function takeOne(left: Map<string, number>, key: string): boolean {
  const count = left.get(key) ?? 0;
  if (count <= 0) return false;
  left.set(key, count - 1);
  return true;
}

function keyOf({ id, title }: KnownItem): string {
  return id ?? title;
}
