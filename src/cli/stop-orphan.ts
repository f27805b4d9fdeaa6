import { takeOver } from '../owner/take-over.ts';
import { startersEnvironment } from '../store/run-environment.ts';
import type { LoopReading } from '../store/read-loop.ts';
import { drive } from './drive.ts';

/** Stops a loop without an owner: becomes its owner to stop an agent that may still run, and to journal the stop. */
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
