import { randomUUID } from 'node:crypto';
import type { Engine } from '../engine/engine.ts';
import { isInRepository } from '../git/in-repository.ts';
import { recordStart } from '../scm/start.ts';
import type { StartedLoop } from '../store/run-environment.ts';
import { treeOf } from '../store/spec.ts';
import { UserError } from '../user-error.ts';

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
