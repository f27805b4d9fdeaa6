import { createHash } from 'node:crypto';

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

/** The item to work on; null if all are done. */
export function nextItem(plan: Plan): PlanItem | null {
  return workItems(plan)[0] ?? null;
}

/** The items that can be worked on, in their order: the open ones that have no open sub-items. */
export function workItems(plan: Plan): readonly PlanItem[] {
  const open = openItems(plan);
  const parents = new Set<PlanItem>();
  for (const { parent } of open) {
    for (let above = parent; above !== null && !parents.has(above); above = above.parent) parents.add(above);
  }
  return open.filter((item) => !parents.has(item));
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

/**
 * What recognises an item in other iterations, also if its case, its punctuation or its spaces change: its id, or its title with
 * those of the items that it is part of.
 */
export function lastingKey(item: PlanItem): string {
  const titles = [...ancestorsOf(item), item].map(({ title }) => {
    const words = title
      .normalize('NFKC')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
      .trim();
    return words === '' ? title : words;
  });
  return createHash('sha256')
    .update(item.id ?? titles.join('\n'))
    .digest('hex')
    .slice(0, 16);
}

/** A text of a plan as a title: on one line, and without characters that a terminal hides or reorders the text by. */
export function titleOf(text: string): string {
  return withoutComments(text)
    .replaceAll(REORDERING, '')
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim();
}

function withoutComments(text: string): string {
  let [kept, rest] = ['', text];
  for (;;) {
    const start = rest.indexOf('<!--');
    const end = start < 0 ? -1 : rest.indexOf('-->', start + '<!--'.length);
    if (end < 0) return kept + rest;
    kept += rest.slice(0, start);
    rest = rest.slice(end + '-->'.length);
  }
}

const REORDERING = /[\u200E\u200F\u202A-\u202E\u2066-\u2069]/g;

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
