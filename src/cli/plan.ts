/** `ralph plan`: what a plan says, for people and for agents. It reads one file and no loop. */
import { basename, dirname, resolve } from 'node:path';
import { nextItem, openItems, type Plan } from '../plan/items.ts';
import { readPlan } from '../plan/plan.ts';
import { ancestorsOf, checkText, showText } from '../plan/text.ts';
import { hideLikelyKeys } from '../loop/secrets.ts';
import { print, printJson } from './print.ts';

/** `ralph plan check`: exits 0 if every item is done, 1 with the names of those that are open, 2 if there is no plan. */
export async function checkPlan(file: string): Promise<number> {
  const plan = await planAt(file);
  print(`${hideLikelyKeys(checkText(file, plan))}\n`);
  return openItems(plan).length === 0 ? 0 : 1;
}

/** `ralph plan show`: prints every item. */
export async function showPlan(file: string, { json = false }: { readonly json?: boolean }): Promise<number> {
  const plan = await planAt(file);
  if (json) printJson(planRecord(file, plan), 2);
  else print(`${hideLikelyKeys(showText(file, plan))}\n`);
  return 0;
}

function planAt(file: string): Promise<Plan> {
  const path = resolve(file);
  return readPlan(dirname(path), basename(path), file);
}

function planRecord(file: string, plan: Plan): object {
  const indexOf = new Map(plan.items.map((item, index) => [item, index]));
  const next = nextItem(plan);
  return {
    file,
    done: plan.items.length - openItems(plan).length,
    total: plan.items.length,
    next: next === null ? null : indexOf.get(next),
    items: plan.items.map((item) => ({
      id: item.id,
      title: hideLikelyKeys(item.title),
      done: item.isDone,
      depth: ancestorsOf(item).length,
      parent: item.parent === null ? null : indexOf.get(item.parent),
    })),
  };
}
