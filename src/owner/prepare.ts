/** What is done before the engine drives a loop: the set-up of a fresh worktree, and the record of a start that has none. */
import type { LoopState } from '../loop/state.ts';
import { inCheckSandbox } from '../workspace/loop-sandbox.ts';
import { runEnvironment, setUpMarker, type StartedLoop } from '../home/run-environment.ts';
import { treeOf } from '../home/spec.ts';
import {
  isSetUp,
  noteSetUp,
  setUp,
  setUpFolder,
  wantsSetUp,
  watchSetUp,
  type SetUpEnding,
} from '../workspace/set-up.ts';
import { randomUUID } from 'node:crypto';
import type { Engine } from '../engine/engine.ts';
import { isInRepository } from '../git/location.ts';
import { recordStart } from '../workspace/start.ts';
import { UserError } from '../user-error.ts';

/** Runs the set-up commands of a fresh worktree, once; `done` where there is nothing to do. */
export async function runSetUp(
  loop: StartedLoop,
  { policy, iteration, control }: LoopState,
  say: (line: string) => void,
  interrupt: AbortSignal,
): Promise<SetUpEnding> {
  const { spec, folder, env } = loop;
  if (!wantsSetUp(spec, policy) || iteration > 0 || isSetUp(folder)) return 'done';
  if (control.stop !== null || control.paused || interrupt.aborted) return 'interrupted';
  const noteWhatIsLeft = await watchSetUp(loop, env);
  const ending = await setUp(
    {
      commands: policy.worktree.setup,
      timeoutMs: policy.worktree.setupTimeoutMs,
      maxBytes: policy.limits.outputBytes,
      cwd: treeOf(spec),
      ...(await inCheckSandbox(loop, policy, runEnvironment({ spec, folder, env, policy, run: '1.1' }))),
      marker: setUpMarker(spec),
      graceMs: policy.timeouts.killGraceMs,
      logs: setUpFolder(folder),
    },
    say,
    interrupt,
  );
  await noteWhatIsLeft();
  if (ending === 'done') noteSetUp(folder);
  return ending;
}

/** Records the start of a loop that commits only from now on; where that fails, every commit says so. */
export async function recordLateStart(
  loop: StartedLoop,
  engine: Engine,
  say: (line: string) => void,
): Promise<void> {
  const { policy, start: known } = engine.state;
  const hasRun = known !== null || engine.report.runs > 0;
  if (hasRun && !isInRepository(treeOf(loop.spec))) return;
  try {
    const { start, notes } = await recordStart({ ...loop, policy, hasRun, say });
    if (start !== null) engine.append({ type: 'start.recorded', ...start });
    for (const note of hasRun ? [] : notes) say(note);
  } catch (error) {
    // A loop that cannot protect what its policy names does not begin; any other says so with each commit.
    if (error instanceof UserError && !hasRun)
      engine.receive(randomUUID(), { type: 'abort', message: error.message, as: 'bad-input' });
  }
}
