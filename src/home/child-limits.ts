/**
 * How many child loops a loop may have. The policy of the parent decides.
 *
 * 1. A place is taken under the parent's lock for children, so that two starts at once cannot both get the last one. The child
 *    counts from then on, because its creator owns it.
 * 2. Everything is counted from the state: the parent's children and the depth in its spec. A child never has wider limits than its
 *    parent.
 * 3. A loop that has ended or is being stopped gets no children. Who stops a whole tree stops a loop before its children, and
 *    takes the same lock in between.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { counted, shortList } from '../loop/counted.ts';
import type { ChildLimitsPolicy, Policy } from '../loop/policy.ts';
import { UserError } from '../user-error.ts';
import { announceChild, registeredChildren, statusOfChild } from './children.ts';
import { takeLock } from './lock.ts';
import { thisProcess } from './lock-owner.ts';
import { loopName } from '../loop/child-report.ts';
import { folderAt, readLoopAt, type LoopReading } from './read-loop.ts';
import type { ParentRun, Spec } from './spec.ts';
import type { LoopFolder } from './home.ts';

/** Registers a child with its parent, or throws if the parent has no place for it. */
export async function takePlace(parent: ParentRun, child: LoopFolder): Promise<void> {
  const folder = folderAt(parent.folder);
  if (folder === null) throw unreadable();
  await underChildrenLock(folder, () => {
    refuseChild(parent, child.id);
    announceChild(parent.folder, child);
  });
}

/** Throws if a loop may not have another child now; `child` does not count. */
export function refuseChild(parent: ParentRun, child: string | null = null): void {
  refuseBelow(readParent(parent), child);
}

function refuseBelow({ folder, spec, state }: LoopReading, child: string | null): void {
  const { name } = spec;
  if (state.outcome !== null || state.control.stop !== null) {
    const why = state.outcome === null ? 'is being stopped' : 'has ended';
    throw new UserError(
      `the loop of this run, "${name}", ${why} and can start no child loops: finish your work`,
    );
  }
  const { maxDepth, maxActive } = state.policy.childLimits;
  const depth = depthOf(spec);
  if (maxDepth === 0 || maxActive === 0) throw noneAllowed(name, state.policy.childLimits);
  if (depth >= maxDepth)
    throw refused(
      `is ${counted(depth, 'generation')} below the first loop and may start no child loops (children.maxDepth is ${maxDepth})`,
      name,
    );
  const active = registeredChildren(folder).filter((id) => id !== child && isActive(id));
  if (active.length < maxActive) return;
  throw new UserError(
    `this loop ("${name}") already has ${counted(active.length, 'active child', 'active children')} (${shortList(active.map(loopName), 8)}): ` +
      'wait for one with: ralph wait NAME, or do the work yourself',
  );
}

/** Throws if a loop may have no children at all: an unrelated loop would get around that. */
export function refuseUnrelated(parent: ParentRun): void {
  const { spec, state } = readParent(parent);
  const { maxDepth, maxActive } = state.policy.childLimits;
  if (maxDepth === 0 || maxActive === 0) throw noneAllowed(spec.name, state.policy.childLimits);
}

/**
 * The terms of a child: its parent with the depth that the child has, and a policy whose limits on children are not wider than
 * those of the parent. Throws if the parent may not have another child now.
 */
export function termsOfChild(
  parent: ParentRun,
  policy: Policy,
): { readonly parent: ParentRun; readonly policy: Policy } {
  const above = readParent(parent);
  refuseBelow(above, null);
  const upper = above.state.policy.childLimits;
  const own = policy.childLimits;
  const childLimits = {
    maxDepth: Math.min(own.maxDepth, upper.maxDepth),
    maxActive: Math.min(own.maxActive, upper.maxActive),
  };
  return { parent: { ...parent, depth: depthOf(above.spec) + 1 }, policy: { ...policy, childLimits } };
}

/** The registered children of a loop, once no start is in between: a loop that was stopped before gets no others. */
export function settledChildren(folder: LoopFolder): Promise<readonly string[]> {
  return underChildrenLock(folder, () => registeredChildren(folder));
}

/** 0 for a loop that has no parent. */
function depthOf({ parent }: Spec): number {
  return parent === null ? 0 : (parent.depth ?? 1);
}

function isActive(id: string): boolean {
  const { is } = statusOfChild(id);
  return is === 'active' || is === 'new';
}

function readParent({ folder }: ParentRun): LoopReading {
  const found = folderAt(folder);
  const loop = found === null ? null : readLoopAt(found);
  if (loop === null || loop.trouble !== null) throw unreadable();
  return loop;
}

function unreadable(): UserError {
  return new UserError(
    'the loop of this run cannot be read, so it can start no child loops: do the work yourself',
  );
}

function noneAllowed(name: string, { maxDepth }: ChildLimitsPolicy): UserError {
  return refused(`may start no loops (children.${maxDepth === 0 ? 'maxDepth' : 'maxActive'} is 0)`, name);
}

function refused(why: string, name: string): UserError {
  return new UserError(`this loop ("${name}") ${why}: do the work yourself`);
}

async function underChildrenLock<T>({ childrenLock, name }: LoopFolder, work: () => T): Promise<T> {
  const deadline = performance.now() + TIMEOUT_MS;
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- until the other start has its answer, which takes milliseconds
    const lock = await takeLock(childrenLock, thisProcess());
    if (lock.taken) {
      try {
        return work();
      } finally {
        lock.release();
      }
    }
    if (performance.now() > deadline)
      throw new UserError(
        `cannot lock the child loops of "${name}": process ${lock.owner?.pid ?? 'unknown'} has the lock; try again`,
        3,
      );
    // oxlint-disable-next-line no-await-in-loop -- as above
    await sleep(RETRY_MS);
  }
}

const TIMEOUT_MS = 30_000;
const RETRY_MS = 10;
