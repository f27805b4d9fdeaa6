import { parentOf } from '../store/enclosing-runs.ts';
import type { LoopReading } from '../store/read-loop.ts';

export interface ListedLoop {
  readonly loop: LoopReading;
  /** How many of its ancestors are listed above it. */
  readonly level: number;
}

/** Each loop followed by its child loops. A loop whose parent is not in the list comes first, like one without a parent. */
export function inTree(loops: readonly LoopReading[]): readonly ListedLoop[] {
  const listed = new Set(loops.map(({ spec }) => spec.id));
  const children = new Map<string | null, LoopReading[]>();
  for (const loop of loops) {
    const named = parentOf(loop.spec);
    const parent = named !== null && listed.has(named) ? named : null;
    children.set(parent, [...(children.get(parent) ?? []), loop]);
  }
  const found: ListedLoop[] = [];
  const add = (parent: string | null, level: number): void => {
    for (const loop of children.get(parent) ?? []) {
      found.push({ loop, level });
      add(loop.spec.id, level + 1);
    }
  };
  add(null, 0);
  // Two specs that name each other are below nothing.
  const shown = new Set(found.map(({ loop }) => loop));
  const others = loops.filter((loop) => !shown.has(loop));
  return found.concat(others.map((loop) => ({ loop, level: 0 })));
}
