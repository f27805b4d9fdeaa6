/** What a plan says, for fronts. It is a file of a workspace, and no loop is read. */
import { basename, dirname, resolve } from 'node:path';
import { ancestorsOf, checkText, nextItem, openItems, showText } from '../checks/plan-items.ts';
import { readPlan } from '../checks/plan.ts';
import { hideLikelyKeys } from '../loop/secrets.ts';

/** A plan without likely keys. Items are known by their place in the list. */
export interface PlanView {
  readonly file: string;
  readonly done: number;
  readonly total: number;
  /** Null if all are done. */
  readonly next: number | null;
  readonly items: readonly {
    /** Of a user story; null for a checkbox. */
    readonly id: string | null;
    readonly title: string;
    readonly done: boolean;
    readonly depth: number;
    readonly parent: number | null;
  }[];
}

/** A plan, with the items that are left as text, and all of them. Throws a `UserError` if there is none. */
export async function planAt(
  file: string,
): Promise<{ readonly plan: PlanView; readonly left: string; readonly all: string }> {
  const path = resolve(file);
  const plan = await readPlan(dirname(path), basename(path), file);
  const placeOf = new Map(plan.items.map((item, index) => [item, index]));
  const next = nextItem(plan);
  return {
    plan: {
      file,
      done: plan.items.length - openItems(plan).length,
      total: plan.items.length,
      next: next === null ? null : (placeOf.get(next) ?? null),
      items: plan.items.map((item) => ({
        id: item.id,
        title: hideLikelyKeys(item.title),
        done: item.isDone,
        depth: ancestorsOf(item).length,
        parent: item.parent === null ? null : (placeOf.get(item.parent) ?? null),
      })),
    },
    left: hideLikelyKeys(checkText(file, plan)),
    all: hideLikelyKeys(showText(file, plan)),
  };
}
