/**
 * The plan of a loop: its items at the start, and what each probe finds.
 *
 * 1. The items of the start and those before each iteration are in the state. A repeated probe changes nothing.
 * 2. A plan that cannot be read is a finding, not an error: the agent is told, and its claim is rejected.
 */
import type { EffectOf } from '../engine/ports.ts';
import { isChangedBeside, stateOf, type TreeState } from '../git/fingerprint.ts';
import { isInRepository } from '../git/location.ts';
import { GitError, type Repository } from '../git/git.ts';
import { cut } from '../loop/excerpt.ts';
import type { PlanToProbe } from '../loop/attempts.ts';
import type { PlanProbe } from '../loop/plan.ts';
import type { Policy } from '../loop/policy.ts';
import { isRecord } from '../loop/shape.ts';
import {
  missingItems,
  nameOf,
  lastingKey,
  openItems,
  tickedItems,
  type KnownItem,
  workItems,
  type Plan,
  type PlanItem,
  ancestorsOf,
} from '../checks/plan-items.ts';
import { recallItems, rememberItems, type Remembered } from '../checks/known-plans.ts';
import { readPlan } from '../checks/plan.ts';
import { enclosing } from '../sandbox/git-view.ts';
import type { StartedLoop } from '../home/run-environment.ts';
import { hideSecrets } from '../loop/secrets.ts';
import { treeOf } from '../home/spec.ts';
import { UserError } from '../user-error.ts';

/** Refuses a loop whose plan is missing or cannot be read, before it is created. */
export async function refusePlan({ plan }: Policy, workspace: string): Promise<void> {
  if (plan !== null) await readPlan(workspace, plan.file);
}

/** Remembers the plan of a new loop. */
export async function rememberPlan({ spec, folder }: StartedLoop, { plan }: Policy): Promise<void> {
  if (plan === null) return;
  try {
    rememberItems(folder.plan, await readPlan(treeOf(spec), plan.file));
  } catch (error) {
    if (!(error instanceof UserError) || spec.worktree === undefined) throw error;
    throw new UserError(
      `${error.message}; a new worktree has committed files only, so commit the plan first`,
    );
  }
}

/** What the plan of a loop says before its first iteration. */
export async function firstProbe({ spec, env }: StartedLoop, { plan }: Policy): Promise<PlanProbe | null> {
  return plan === null
    ? null
    : standOf(await readPlan(treeOf(spec), plan.file), (text) => hideSecrets(text, env));
}

function standOf(plan: Plan, hide: (text: string) => string): PlanProbe {
  const total = plan.items.length;
  return {
    ...NOTHING,
    done: total - openItems(plan).length,
    total,
    next: nextOf(plan, workItems(plan)[0], hide),
  };
}

/** What the plan says now, and which items the iteration has ticked. */
export async function probePlan(loop: StartedLoop, effect: EffectOf<'probe'>): Promise<PlanProbe | null> {
  const { spec, folder, env } = loop;
  if (effect.plan === null) return null;
  const { file } = effect.plan;
  const hide = (text: string): string => hideSecrets(text, env);
  let plan: Plan;
  try {
    plan = await readPlan(treeOf(spec), file);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { ...NOTHING, problem: cut(hide(error.message), MAX_NAME) };
  }
  const start = recallItems(folder.plan);
  const missing = start === null ? 0 : missingItems(start.items, plan).length;
  const found = { ...standOf(plan, hide), missing, ...attemptsIn(plan, effect.plan, hide) };
  const before = recallItems(folder.planBefore);
  if (effect.phase === 'before') {
    // If the run of an iteration was cut short and is repeated, the items before its first run count.
    if (iterationIn(before) !== effect.iteration)
      rememberItems(folder.planBefore, plan, {
        iteration: effect.iteration,
        tree: await treeBeside(loop, file),
      });
    return found;
  }
  // If the plan could not be read before this iteration, the last one in which it could counts.
  // An item that an earlier run removed was open when it went, so that one which is back as done was ticked.
  const gone = before === null || start === null ? [] : missingItems(start.items, before);
  const ticked = before === null ? [] : tickedItems([...before.items, ...gone], plan);
  if (before === null || ticked.length === 0) return found;
  return {
    ...found,
    ticked: ticked.slice(0, MAX_NAMES).map((item) => shown(item, hide)),
    moreTicked: Math.max(0, ticked.length - MAX_NAMES),
    changed: await isChanged(loop, file, treeIn(before)),
  };
}

const NOTHING: PlanProbe = {
  done: 0,
  total: 0,
  missing: 0,
  next: null,
  ticked: [],
  moreTicked: 0,
  changed: null,
  problem: null,
};

const MAX_NAME = 200;
const MAX_NAMES = 8;
const MAX_DETAILS = 2000;

/** The next item; with a limit of attempts the first one that is not blocked, the blocked ones, and which of the tried ones are done. */
function attemptsIn(
  plan: Plan,
  { tried }: PlanToProbe,
  hide: (text: string) => string,
): Pick<PlanProbe, 'next' | 'blocked' | 'moreBlocked' | 'finished'> {
  const items = workItems(plan);
  if (tried === undefined) return { next: nextOf(plan, items[0], hide) };
  const blockedKeys = new Set(tried.flatMap(({ key, isBlocked }) => (isBlocked ? [key] : [])));
  const isBlocked = (item: PlanItem): boolean => blockedKeys.has(lastingKey(item));
  const free = items.find((item) => !isBlocked(item));
  const next = nextOf(plan, free, hide);
  const blocked = items.filter(isBlocked);
  const open = new Set(openItems(plan).map(lastingKey));
  const done = new Set(plan.items.filter((item) => item.isDone).map(lastingKey));
  return {
    next: next === null || free === undefined ? null : { ...next, key: lastingKey(free) },
    blocked: blocked.slice(0, MAX_NAMES).map((item) => shown(item, hide)),
    moreBlocked: Math.max(0, blocked.length - MAX_NAMES),
    finished: tried.flatMap(({ key }) => (done.has(key) && !open.has(key) ? [key] : [])),
  };
}

function nextOf(plan: Plan, next: PlanItem | undefined, hide: (text: string) => string): PlanProbe['next'] {
  if (next === undefined) return null;
  return {
    name: shown(next, hide),
    within: ancestorsOf(next)
      .slice(-MAX_NAMES)
      .map((item) => shown(item, hide)),
    details: cut(hide(plan.detailsOf(next)), MAX_DETAILS),
  };
}

function shown(item: Pick<KnownItem, 'id' | 'title'>, hide: (text: string) => string): string {
  return cut(hide(nameOf(item)), MAX_NAME);
}

async function isChanged(loop: StartedLoop, file: string, before: TreeState | null): Promise<boolean | null> {
  const after = await treeBeside(loop, file);
  if (before === null || after === null) return null;
  return isChangedBeside(repositoryOf(loop), file, before, after).catch(nullIfGitFails);
}

/** The tree without the plan; null outside of a repository. */
async function treeBeside(loop: StartedLoop, file: string): Promise<TreeState | null> {
  if (!isInRepository(treeOf(loop.spec))) return null;
  return stateOf(repositoryOf(loop), file).catch(nullIfGitFails);
}

function repositoryOf({ spec, env }: StartedLoop): Repository {
  return { command: ['git'], folder: treeOf(spec), env, enclose: enclosing(null) };
}

function nullIfGitFails(error: unknown): null {
  if (error instanceof GitError) return null;
  throw error;
}

function iterationIn(known: Remembered | null): unknown {
  return known !== null && 'iteration' in known ? known.iteration : null;
}

function treeIn(known: Remembered): TreeState | null {
  const tree = 'tree' in known ? known.tree : null;
  if (!isRecord(tree)) return null;
  const { head, changes } = tree;
  return typeof head === 'string' && typeof changes === 'string' ? { head, changes } : null;
}
