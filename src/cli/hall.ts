import { askedLoops } from '../loops/asked-loops.ts';
import { sandboxRequests } from '../loops/here.ts';
import { localLoops, type Here } from '../loops/local-loops.ts';
import type { Loops } from '../loops/loops.ts';

/** The loops that this process can reach: those of the machine, or in a sandbox what its owner answers for. */
export function hall(here?: Here): Loops {
  const requests = sandboxRequests();
  return requests === null ? localLoops(here) : askedLoops(requests);
}
