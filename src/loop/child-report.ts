/** What people want to know about the child loops of a loop. */
import { decide } from './decide.ts';
import type { ChildLoss, LoopEvent } from './event.ts';
import type { Outcome } from './outcome.ts';
import type { LoopState } from './state.ts';

export interface ChildReport {
  /** Its id. */
  readonly child: string;
  /** The run or the check that started it; null if the journal does not say. */
  readonly run: string | null;
  readonly startedAt: number;
  /** Null while it is active. */
  readonly endedAt: number | null;
  /** Null while it is active, if it was lost, and for a child that another program registered. */
  readonly outcome: Outcome | null;
  readonly lost: ChildLoss | null;
}

/** The wait for child loops after an accepted claim. */
export interface ChildrenWait {
  /** The ids of those that were active when it began. */
  readonly children: readonly string[];
  readonly since: number;
  /** Null while it lasts, and if the loop was stopped meanwhile. */
  readonly ended: 'finished' | 'timeout' | null;
}

/** The child loops that a loop waits for now; null if it does not wait for any. */
export function awaitedChildren(state: LoopState): readonly string[] | null {
  // Asking `decide` after every event of a long journal would take time.
  if (state.children.length === 0 || state.turn.claim?.verdict !== 'accepted') return null;
  const wait = decide(state).find(({ type }) => type === 'children');
  return wait?.type === 'children' ? wait.children : null;
}

/** The children after one more event: all that are active, and the last that have ended. */
export function childrenAfter(before: readonly ChildReport[], event: LoopEvent): readonly ChildReport[] {
  if (event.type === 'child.started') {
    const { child, run = null, at: startedAt } = event;
    const others = before.filter((one) => one.child !== child);
    return bounded([...others, { child, run, startedAt, endedAt: null, outcome: null, lost: null }]);
  }
  if (event.type !== 'child.ended') return before;
  const { child, outcome = null, lost = null, at: endedAt } = event;
  return before.map((one) => (one.child === child ? { ...one, endedAt, outcome, lost } : one));
}

/** Without the oldest that have ended, where there are too many. */
function bounded(children: readonly ChildReport[]): readonly ChildReport[] {
  if (children.length <= KEPT_CHILDREN) return children;
  const oldest = children.findIndex(({ endedAt }) => endedAt !== null);
  return oldest < 0 ? children : children.toSpliced(oldest, 1);
}

const KEPT_CHILDREN = 20;

/** The wait after one more event; `state` is the state after it. */
export function childrenWaitAfter(
  before: ChildrenWait | null,
  event: LoopEvent,
  state: LoopState,
): ChildrenWait | null {
  if (event.type === 'run.planned' || event.type === 'loop.reopened') return null;
  if (before === null || before.ended !== null) {
    const children = awaitedChildren(state);
    return children === null ? before : { children, since: event.at, ended: null };
  }
  if (event.type === 'timer.fired' && event.key === 'children') return { ...before, ended: 'timeout' };
  const isFinished = event.type === 'child.ended' && state.children.length === 0;
  return isFinished ? { ...before, ended: 'finished' } : before;
}

/** Whether the id of an active child is that of a loop, and not the name of a recorded run. */
export function isLoopId(id: string): boolean {
  return loopName(id) !== id;
}

/** The name in a loop's id: the id without its random suffix. */
export function loopName(id: string): string {
  return id.replace(/-[0-9a-f]{8}$/, '');
}
