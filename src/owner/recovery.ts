/** Ends the processes and undoes the half-done work that a loop left behind when its owner died. */
import { existsSync, rmSync } from 'node:fs';
import type { LoopFolder } from '../home/home.ts';
import { treeOf, type Spec } from '../home/spec.ts';
import { processHost } from '../hosts/process.ts';
import { openRun } from '../loop/run.ts';
import type { Policy } from '../loop/policy.ts';
import type { LoopState } from '../loop/state.ts';
import { processes } from '../process/process.ts';
import { killAll } from '../process/stop.ts';
import type { Marker } from '../process/process-table.ts';
import type { LoopReading } from '../home/read-loop.ts';
import { checkMarker, runMarker, setUpMarker, startersEnvironment } from '../home/run-environment.ts';
import { userGit } from '../workspace/user-git.ts';
import { tidyIndex } from '../workspace/task-progress.ts';

/** Ends everything that a loop without an owner may still have running, before it is archived or removed. */
export async function endLeftovers({ state, spec, folder, trouble }: LoopReading): Promise<void> {
  if (trouble !== null) return killAll(() => processes.markedByPrefix(runMarker(spec, '')));
  const open = openRun(state);
  if (open !== null) {
    const describe = (run: string) => ({
      folder: folder.run(run),
      argv: () => spec.agent.argv,
      cwd: treeOf(spec),
      env: {},
      stdin: null,
      marker: runMarker(spec, run),
    });
    const live = await processHost(describe).find({ run: open.id, receipt: open.receipt });
    await live?.stop(state.policy.timeouts.killGraceMs);
    await live?.close('leave');
  }
  if (state.outcome === null) await endRecordedChildren(spec, state.policy);
  await endStep(state, spec, folder);
  // A commit that was only prepared will never be made.
  await tidyIndex(folder, userGit(state.policy, treeOf(spec), startersEnvironment(process.env)));
}

/** Ends what is left of all runs of a loop: recorded children outlive their run, but not a loop that is stopped at once. */
export async function endRecordedChildren(spec: Spec, { taskFolder, timeouts }: Policy): Promise<void> {
  if (!taskFolder) return;
  const ofLoop = runMarker(spec, '');
  const left = async (): Promise<readonly number[]> =>
    // This process may be a command of the agent.
    (await processes.markedByPrefix(ofLoop)).filter((pid) => pid !== process.pid);
  await killAll(left, timeouts.killGraceMs);
}

/** Carried by every git of a rewind. */
export function rewindMarker(spec: Spec): Marker {
  return checkMarker(spec, 'rewind');
}

/** Ends the git processes of a rewind that was killed, which would continue to change files. */
async function endRewind(spec: Spec, folder: LoopFolder): Promise<void> {
  // Made before the first git that changes a file, and removed at the end.
  if (!existsSync(folder.rewindScratch)) return;
  const marker = rewindMarker(spec);
  await killAll(() => processes.marked(marker), GIT_GRACE_MS);
  rmSync(folder.rewindScratch, { recursive: true, force: true });
}

/**
 * Ends the set-up, check, commit or checkpoint that a dead owner left running; the loop starts it again if it is still
 * needed. Also ends a rewind whose process died.
 */
export async function endStep(
  { turn, policy, iteration, baseline, progress }: LoopState,
  spec: Spec,
  folder: LoopFolder,
): Promise<void> {
  await endRewind(spec, folder);
  if (spec.worktree !== undefined && turn.run === null) {
    await killAll(() => processes.marked(setUpMarker(spec)));
  }
  const index = turn.checks.indexOf(null);
  const { baseline: hasBaseline, commands } = policy.checks;
  const isBaseline = hasBaseline && iteration === 0 && baseline.length < commands.length;
  if (index >= 0 || isBaseline) {
    const key = isBaseline ? `check:0.${baseline.length + 1}` : `check:${turn.iteration}.${index + 1}`;
    const check = checkMarker(spec, key);
    return killAll(() => processes.marked(check));
  }
  // The first look at the files is before the first run; everything else begins when a run has ended.
  const isFirstLook = turn.run === null && progress.seen.length === 0;
  if (!isFirstLook && (turn.run === null || turn.run.ended === null)) return;
  const steps = [
    ...(policy.commit !== null && !turn.committed ? ['commit'] : []),
    ...(policy.checkpoint && !turn.checkpointed ? ['checkpoint'] : []),
  ];
  const markers = steps.map((step) => checkMarker(spec, `${step}:${turn.iteration}`));
  await Promise.all(markers.map((marker) => killAll(() => processes.marked(marker), GIT_GRACE_MS)));
}

/** Gives git time to release its locks. */
const GIT_GRACE_MS = 5000;
