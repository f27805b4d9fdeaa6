import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { askedLoops } from '../loops/asked-loops.ts';
import { localLoops, type Here } from '../loops/local-loops.ts';
import type { Loops } from '../loops/loops.ts';
import { stateFolder } from '../store/state-folder.ts';

/** The loops that this process can reach: those of the machine, or in a sandbox what its owner answers for. */
export function hall(here?: Here): Loops {
  const requests = sandboxRequests();
  return requests === null ? localLoops(here) : askedLoops(requests);
}

/**
 * The folder for requests if this is a sandbox: where the variable is set and Ralph's state is hidden. Outside of it the
 * state has the file that stands in the place of hidden ones.
 */
export function sandboxRequests(): string | null {
  const folder = process.env['RALPH_SANDBOX'];
  if (folder === undefined || folder === '') return null;
  return existsSync(join(stateFolder(), 'empty')) ? null : folder;
}
