/** Starts a loop in the background. */
import { handOver } from '../daemon/hand-over.ts';
import type { StartRequest } from '../owner/make-request.ts';
import type { LoopFolder } from '../store/store.ts';
import { create, type CreateHelp } from './create.ts';
import type { Begun } from './loops.ts';
import type { Rights } from './rights.ts';

export interface GiveHelp extends Omit<CreateHelp, 'more'> {
  /** Called before the loop is given to the daemon. */
  readonly giving?: (loop: Begun) => void;
}

/** Starts a loop in the background; returns once the daemon owns it. */
export async function start(
  asked: StartRequest,
  rights: Rights,
  { giving, ...help }: GiveHelp,
): Promise<LoopFolder> {
  const loop = await create(asked, rights, { ...help, more: () => ({ place: 'background' }) });
  giving?.(loop);
  await handOver(loop);
  return loop.folder;
}
