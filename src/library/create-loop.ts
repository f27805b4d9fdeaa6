/** The library's ways to a loop: a new one, or one that was left. */
import { resolve } from 'node:path';
import * as composed from '../compose/open-loop.ts';
import { readLoop } from '../compose/read-loop.ts';
import { startersEnvironment } from '../compose/run-environment.ts';
import { UserError } from '../user-error.ts';
import type { AgentFunction } from './function-agent.ts';
import { asFunction, requestOf, type FunctionAgent, type LoopSpec } from './loop-spec.ts';
import { Loop } from './loop.ts';
import type { SeenEvent } from './recent-events.ts';
import type { LoopResult } from './result.ts';

/** Makes a loop and becomes its owner. A `UserError` says what is wrong with the spec. */
export async function createLoop(spec: LoopSpec): Promise<Loop> {
  return openLoop(spec, () => {});
}

/** Makes a loop, drives it to its end, and tells what came of it. */
export async function runLoop(spec: LoopSpec): Promise<LoopResult> {
  const loop = await createLoop(spec);
  return loop.run();
}

/** The same with a listener that misses nothing, for what is built on it; it must not throw. */
export async function openLoop(spec: LoopSpec, listener: (event: SeenEvent) => void): Promise<Loop> {
  const owned = await composed.createLoop(await requestOf(spec));
  return new Loop(owned, spec.signal, listener);
}

export interface ResumeSpec {
  readonly workspace?: string | undefined;
  /** Variables that were given at its start and are not kept after its end. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** For a loop whose agent is a function: the function, which no journal can keep. */
  readonly agent?: AgentFunction | FunctionAgent | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Becomes the owner of a loop that was paused, stopped or left by a crash; `run()` goes on with it. */
export async function resumeLoop(name: string, spec: ResumeSpec = {}): Promise<Loop> {
  const workspace = resolve(spec.workspace ?? '.');
  const { trouble, state } = readLoop(workspace, name);
  if (trouble !== null) throw new UserError(trouble);
  if (state.outcome?.type === 'done') throw new UserError(`"${name}" is done`);
  const perform = spec.agent === undefined ? undefined : asFunction(spec.agent);
  const env = startersEnvironment(process.env);
  const owned = await composed.takeOver(workspace, name, env, spec.env, perform);
  owned.forgetPauses();
  if (owned.state.outcome !== null) owned.reopen(null);
  else if (owned.state.control.paused) owned.receive({ type: 'resume', now: false });
  return new Loop(owned, spec.signal, () => {});
}
