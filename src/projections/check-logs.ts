/**
 * The limit on what the logs of all checks of a loop take together: a check with a long output, run in every iteration, would fill
 * the disk of a long loop.
 *
 * 1. Beyond the limit the oldest logs are emptied, down to three quarters of it. A line in each says so.
 * 2. These are kept: the logs before the first iteration, the first log of a check that failed, and those of the last two runs with checks,
 *    which prompts and views refer to. So the total can exceed the limit.
 */
import { join } from 'node:path';
import { foundAt, namesIn, PRIVATE_FILE } from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';
import { eventsIn } from '../journal/pages.ts';
import { sizeText } from '../loop/counted.ts';
import type { CheckResult } from '../loop/event.ts';
import type { LoopFolder } from '../home/home.ts';

export class CheckLogs {
  readonly #folder: LoopFolder;
  readonly #limit: number;
  /** What the logs take together; null until it matters. */
  #bytes: number | null = null;
  /** The first log of a check that failed; null if none is known. */
  #firstFailed: string | null = null;
  #knowsJournal = false;

  constructor(folder: LoopFolder, limit: number = MAX_LOG_BYTES) {
    this.#folder = folder;
    this.#limit = limit;
  }

  /** Counts the log of a check of an iteration that has just ended; returns the logs that were emptied for it. */
  add(log: string, iteration: number, result: Pick<CheckResult, 'code'>): readonly string[] {
    const size = sizeAt(log);
    if (this.#bytes !== null) this.#bytes += size;
    // Looking at all logs takes time: small ones can wait.
    else if (size >= this.#limit / LARGE_PART || iteration % LOOK_EVERY === 0)
      this.#bytes = sum(this.#logs());
    if (result.code !== 0) this.#firstFailed ??= log;
    if (this.#bytes === null || this.#bytes <= this.#limit) return [];
    return this.#empty();
  }

  #empty(): readonly string[] {
    // An earlier owner may have seen it.
    if (!this.#knowsJournal) this.#firstFailed = this.#firstInJournal() ?? this.#firstFailed;
    this.#knowsJournal = true;
    const logs = this.#logs();
    const kept = new Set([...new Set(logs.map(({ run }) => run))].slice(-KEPT_RUNS));
    const emptied: string[] = [];
    let bytes = sum(logs);
    for (const { path, run, size } of logs) {
      if (bytes <= this.#limit * FILLED_AGAIN) break;
      const note = `[emptied by ralph: the logs of the checks of this loop took more than ${sizeText(this.#limit)}; this one had ${sizeText(size)}]\n`;
      if (kept.has(run) || path === this.#firstFailed || size <= note.length) continue;
      if (!replaced(path, note)) continue;
      bytes -= size - note.length;
      emptied.push(path);
    }
    this.#bytes = bytes;
    return emptied;
  }

  /** All logs of checks in iterations, the oldest first. */
  #logs(): readonly Log[] {
    const folder = join(this.#folder.path, 'runs');
    const runs = namesIn(folder).toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }));
    return runs.flatMap((run) => {
      const checks = join(folder, run, 'checks');
      const names = namesIn(checks).filter((name) => name.endsWith('.log'));
      return names.map((name) => ({ path: join(checks, name), run, size: sizeAt(join(checks, name)) }));
    });
  }

  #firstInJournal(): string | null {
    try {
      for (const event of eventsIn(this.#folder.journal))
        if (event.type === 'check.finished' && event.iteration > 0 && event.result.code !== 0)
          return this.#folder.log(event.result.log);
    } catch {
      // The owner reports a damaged journal.
    }
    return null;
  }
}

/** A log that cannot be emptied is no reason to end the loop. */
function replaced(path: string, note: string): boolean {
  try {
    replaceFile(path, note, { mode: PRIVATE_FILE });
    return true;
  } catch {
    return false;
  }
}

interface Log {
  readonly path: string;
  /** The name of its run's folder. */
  readonly run: string;
  readonly size: number;
}

/** As much as one check may print by default. */
const MAX_LOG_BYTES = 2 ** 30;
/** So that not every check empties one. */
const FILLED_AGAIN = 0.75;
/** The current run, and the one before. */
const KEPT_RUNS = 2;
const LARGE_PART = 1000;
const LOOK_EVERY = 16;

function sum(logs: readonly Log[]): number {
  return logs.reduce((total, { size }) => total + size, 0);
}

function sizeAt(path: string): number {
  const found = foundAt(path);
  return found?.isFile() === true ? found.size : 0;
}
