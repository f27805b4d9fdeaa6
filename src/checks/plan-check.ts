/**
 * The check of a loop's plan. The process that owns the loop evaluates it: a separate process in a sandbox would not know
 * which items were open at the start.
 */
import { dirname } from 'node:path';
import { PRIVATE_FILE, PRIVATE_FOLDER, makeFolders } from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';
import type { CheckResult } from '../loop/event.ts';
import { UserError } from '../user-error.ts';
import { missingItems, openItems, checkText } from './plan-items.ts';
import { recallItems } from './known-plans.ts';
import { readPlan } from './plan.ts';

/** Passes if every item is done and none of those that were open at the start is gone. */
export async function runPlanCheck(asked: PlanCheck): Promise<CheckResult> {
  const startedAt = performance.now();
  const { code, text } = await verdictOn(asked);
  makeFolders(dirname(asked.log), PRIVATE_FOLDER);
  replaceFile(asked.log, `${text}\n`, { mode: PRIVATE_FILE });
  return {
    code,
    timedOut: false,
    durationMs: Math.round(performance.now() - startedAt),
    log: asked.shownAs,
  };
}

export interface PlanCheck {
  /** The folder in which the agent works. */
  readonly root: string;
  readonly file: string;
  /** What the loop remembers of its start. */
  readonly start: string;
  readonly log: string;
  /** The path of the log in journal and messages. */
  readonly shownAs: string;
}

async function verdictOn({ root, file, start }: PlanCheck): Promise<{ code: number; text: string }> {
  try {
    const plan = await readPlan(root, file);
    const known = recallItems(start);
    if (known === null) return { code: 2, text: `cannot read the items of the loop's start: ${start}` };
    const missing = missingItems(known.items, plan);
    const isDone = openItems(plan).length === 0 && missing.length === 0;
    return { code: isDone ? 0 : 1, text: checkText(file, plan, missing) };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { code: 2, text: error.message };
  }
}
