import { takeOver } from '../owner/take-over.ts';
import { startersEnvironment } from '../store/run-environment.ts';
import type { LoopReading } from '../store/read-loop.ts';
import { drive } from './drive.ts';

/** Stops a loop that nobody drives: its agent may still be running, so somebody has to end it and say so. */
export async function stopOrphan(found: LoopReading, now: boolean): Promise<number> {
  const { spec } = found;
  const loop = await takeOver(spec.workspace, spec.name, {
    by: 'person',
    env: startersEnvironment(process.env),
  });
  loop.receive({ type: 'stop', now, by: 'person' });
  const code = await drive(loop, {});
  return code === 3 ? 3 : 0;
}
