import { processHost } from '../hosts/process.ts';
import { openRun } from '../loop/run.ts';
import { processes } from '../process/processes.ts';
import { killMarked } from '../process/stop.ts';
import { checkMarker, runMarker } from './run-environment.ts';
import type { LoopReading } from './read-loop.ts';

/** Ends what a loop without an owner may still have running, before it is put aside for good. */
export async function endLeftovers({ state, spec, folder }: LoopReading): Promise<void> {
  const open = openRun(state);
  if (open !== null) {
    const describe = (run: string) => ({
      folder: folder.run(run),
      argv: spec.agent.argv,
      cwd: spec.workspace,
      env: {},
      marker: runMarker(spec, run),
    });
    const live = await processHost(describe, processes).find({ run: open.id, receipt: open.receipt });
    await live?.stop(state.policy.timeouts.killGraceMs);
    await live?.close();
  }
  const { iteration, checks } = state.turn;
  const checking = checks.indexOf(null);
  if (checking >= 0) {
    await killMarked(checkMarker(spec, `check:${iteration}.${checking + 1}`), processes);
  }
}
