import { takeOver } from '../owner/take-over.ts';
import { readLoopIn } from '../store/read-loop.ts';
import { drive } from './drive.ts';

/** Drives a loop that another process has created, without output. */
export async function own(path: string): Promise<number> {
  const { spec } = readLoopIn(path);
  return drive(await takeOver(spec.workspace, spec.name, { by: 'background' }), { quiet: true });
}
