/** The entry points of the library: create, run or resume a loop. */
import type { AgentFunction } from './function-agent.ts';
import type { FunctionAgent, LoopSpec } from './loop-spec.ts';
import type { Loop } from './loop.ts';
import type { OwnTask } from './open-loop.ts';
import type { SeenEvent } from './recent-events.ts';
import type { LoopResult } from '../loops/result.ts';

/** Creates a loop and becomes its owner. Throws a `UserError` for an invalid spec. */
export async function createLoop(spec: LoopSpec): Promise<Loop> {
  return openLoop(spec, () => {});
}

/** Creates a loop, runs it to its end and returns the result. */
export async function runLoop(spec: LoopSpec): Promise<LoopResult> {
  const loop = await createLoop(spec);
  return loop.run();
}

/** Becomes the owner of a loop that was paused, stopped or crashed; `run()` continues it. */
export async function resumeLoop(name: string, spec: ResumeSpec = {}): Promise<Loop> {
  const { reopenLoop } = await import('./open-loop.ts');
  return reopenLoop(name, spec);
}

export interface ResumeSpec {
  readonly workspace?: string | undefined;
  /** The `env` of its spec, which Ralph does not keep after the end of a loop. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Required for a loop whose agent is a function: the journal cannot store it. */
  readonly agent?: AgentFunction | FunctionAgent | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** `createLoop` with a listener that gets every event and must not throw. */
export async function openLoop(
  spec: LoopSpec,
  listener: (event: SeenEvent) => void,
  more: OwnTask = {},
): Promise<Loop> {
  // Importing the library must not load the engine.
  const opened = await import('./open-loop.ts');
  return opened.openLoop(spec, listener, more);
}
