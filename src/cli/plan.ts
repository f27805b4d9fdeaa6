/** `ralph plan`: what a plan says, for people and for agents. It reads one file and no loop. */
import { planAt } from '../loops/plan.ts';
import { printAsIs, printJson } from './print.ts';

/** `ralph plan check`: exits 0 if every item is done, 1 with the names of those that are open, 2 if there is no plan. */
export async function checkPlan(file: string): Promise<number> {
  const { plan, left } = await planAt(file);
  printAsIs(`${left}\n`);
  return plan.done === plan.total ? 0 : 1;
}

/** `ralph plan show`: prints every item. */
export async function showPlan(file: string, { json = false }: { readonly json?: boolean }): Promise<number> {
  const { plan, all } = await planAt(file);
  if (json) printJson(plan, 2);
  else printAsIs(`${all}\n`);
  return 0;
}
