/** What a person reads about the child loops of a loop. */
import { awaitedChildren, isLoopId, loopName } from '../loop/child-report.ts';
import { counted, durationText, shortList } from '../loop/counted.ts';
import type { LoopEvent } from '../loop/event.ts';
import type { LoopState } from '../loop/state.ts';

export function childLine(event: Extract<LoopEvent, { type: 'child.started' | 'child.ended' }>): string {
  const name = loopName(event.child);
  if (!isLoopId(event.child))
    return event.type === 'child.started'
      ? `a child run was recorded: ${name}`
      : `recorded child run ended: ${name}`;
  if (event.type === 'child.started') return `the agent started a child loop: ${name}`;
  const { outcome = null, lost } = event;
  if (lost !== undefined) return `child loop ${lost}: ${name}`;
  return `child loop ended: ${name}${outcome === null ? '' : ` (${outcome.type})`}`;
}

/** The line where the wait for child loops begins, after the last event before it. */
export function childrenWaitLines(state: LoopState): readonly string[] {
  const children = awaitedChildren(state);
  return children === null
    ? []
    : [`waiting for ${countedChildren(children)} to complete: ${names(children)}`];
}

export function childrenTimeoutLine({ policy, children }: LoopState): string {
  const after = durationText(policy.children?.waitMs ?? 0);
  return `warning: not waiting any longer after ${after} for ${countedChildren(children)}: ${names(children)}`;
}

function countedChildren(children: readonly string[]): string {
  const areLoops = children.every(isLoopId);
  return areLoops ? counted(children.length, 'child loop') : counted(children.length, 'child', 'children');
}

function names(children: readonly string[]): string {
  return shortList(children.map(loopName), SHOWN);
}

const SHOWN = 8;
