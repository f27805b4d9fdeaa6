import type { LoopState } from '../loop/state.ts';
import { inCheckSandbox } from '../sandbox/loop-sandbox.ts';
import { runEnvironment, setUpMarker, type StartedLoop } from '../store/run-environment.ts';
import { treeOf } from '../store/spec.ts';
import {
  isSetUp,
  noteSetUp,
  setUp,
  setUpFolder,
  wantsSetUp,
  watchSetUp,
  type SetUpEnding,
} from '../worktree/set-up.ts';

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
