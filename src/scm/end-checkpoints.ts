import { dropKeptIndex } from '../git/kept-index.ts';
import { forgetLinks } from '../sandbox/git-links.ts';
import type { LoopFolder } from '../store/store.ts';
import { checkpointIndex } from './loop-tree.ts';
import type { Packing } from './packing.ts';

/** Ends what checkpoints have left for the next one; call when the loop is no longer driven. */
export function endCheckpoints(loop: {
  readonly folder: LoopFolder;
  readonly packing: Packing;
  /** Why its driver has stopped; undefined after an error. */
  readonly why: 'ended' | 'paused' | 'left' | 'lost' | undefined;
}): Promise<void> {
  // Otherwise, its agent may still run.
  if (loop.why === 'ended' || loop.why === 'paused') forgetLinks(loop.folder.path);
  dropKeptIndex(checkpointIndex(loop.folder));
  return loop.packing.end();
}
