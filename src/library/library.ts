/** The library's ways to a loop: a new one, or one that was left. */
import type { AgentFunction } from './function-agent.ts';
import type { FunctionAgent, LoopSpec } from './loop-spec.ts';
import type { Loop } from './loop.ts';
import type { SeenEvent } from './recent-events.ts';
import type { LoopResult } from '../views/loop-result.ts';

/** Makes a loop and becomes its owner. A `UserError` says what is wrong with the spec. */
export async function createLoop(spec: LoopSpec): Promise<Loop> {
  return openLoop(spec, () => {});
}

/** Makes a loop, drives it to its end, and tells what came of it. */
export async function runLoop(spec: LoopSpec): Promise<LoopResult> {
  const loop = await createLoop(spec);
  return loop.run();
}

/** Becomes the owner of a loop that was paused, stopped or left by a crash; `run()` goes on with it. */
export async function resumeLoop(name: string, spec: ResumeSpec = {}): Promise<Loop> {
  const { reopenLoop } = await import('./open-loop.ts');
  return reopenLoop(name, spec);
}

export interface ResumeSpec {
  readonly workspace?: string | undefined;
  /** Variables that were given at its start and are not kept after its end. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** For a loop whose agent is a function: the function, which no journal can keep. */
  readonly agent?: AgentFunction | FunctionAgent | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The same with a listener that misses nothing, for what is built on it; it must not throw. */
export async function openLoop(spec: LoopSpec, listener: (event: SeenEvent) => void): Promise<Loop> {
  // Whoever only looks at a type or a preset need not wait for an engine.
  const opened = await import('./open-loop.ts');
  return opened.openLoop(spec, listener);
}
