/** When the runs of a loop began and ended, according to its journal. */
import { readEvents, type LoopReading } from '../store/read-loop.ts';

type Journaled = Pick<LoopReading, 'folder' | 'trouble'>;

export class RunTimes {
  readonly #loop: Journaled;
  #known: ReadonlyMap<string, Times> = new Map();

  constructor(loop: Journaled) {
    this.#loop = loop;
  }

  /** The times of the run in a folder. Reads the journal only while the run is not known to have ended. */
  of(path: string): Times {
    if ((this.#known.get(path)?.endedAt ?? null) === null) this.#known = timesIn(this.#loop);
    return this.#known.get(path) ?? UNKNOWN;
  }
}

interface Times {
  readonly startedAt: number | null;
  readonly endedAt: number | null;
}

const UNKNOWN: Times = { startedAt: null, endedAt: null };

function timesIn({ folder, trouble }: Journaled): ReadonlyMap<string, Times> {
  const times = new Map<string, Times>();
  for (const event of trouble === null ? readEvents(folder) : []) {
    if (event.type !== 'run.started' && event.type !== 'run.ended') continue;
    const path = folder.run(event.run);
    const before = times.get(path) ?? UNKNOWN;
    times.set(
      path,
      event.type === 'run.started' ? { ...before, startedAt: event.at } : { ...before, endedAt: event.at },
    );
  }
  return times;
}
