/**
 * `state.json`, `iterations.log` and `progress.md`: what the journal says, for people and other programs. They are made
 * anew from the journal whenever a loop gets an owner, so nothing depends on them.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LoopFolder } from '../control/layout.ts';
import { account, NO_ACCOUNT, type Account } from '../journal/account.ts';
import { logLines } from '../journal/iterations-log.ts';
import { completesIteration, progressEntry } from '../journal/progress-file.ts';
import { stateFile, type AboutLoop } from '../journal/state-file.ts';
import type { Happening, LoopEvent } from '../loop/event.ts';
import { evolve, INITIAL } from '../loop/evolve.ts';
import type { LoopState } from '../loop/state.ts';
import { firstLine } from './excerpts.ts';

/** How long a change may take to show in the files. */
const SHOWN_AFTER_MS = 200;

export class ProjectionFiles {
  readonly #folder: LoopFolder;
  readonly #workspace: string;
  readonly #about: () => AboutLoop;
  #state: LoopState = INITIAL;
  #account: Account = NO_ACCOUNT;
  #log = '';
  #entries: (() => string)[] = [];
  #isLive = false;
  #timer: NodeJS.Timeout | null = null;
  #writtenLimit: number | null = null;

  constructor(folder: LoopFolder, workspace: string, about: () => AboutLoop) {
    this.#folder = folder;
    this.#workspace = workspace;
    this.#about = about;
  }

  get account(): Account {
    return this.#account;
  }

  get state(): LoopState {
    return this.#state;
  }

  /** An event of the journal, in its order; live or from before. */
  take(event: LoopEvent): void {
    const before = this.#state;
    const known = this.#account;
    const first = (log: string): string => firstLine(join(this.#workspace, log));
    if (completesIteration(event, before, known))
      this.#entries.push(() => progressEntry(before, known, first));
    this.#state = evolve(before, event);
    this.#account = account(this.#account, event, before);
    for (const line of logLines(event, this.#state, this.#account)) this.#log += `${line}\n`;
    if (this.#isLive) this.#timer ??= setTimeout(() => this.flush(), SHOWN_AFTER_MS).unref();
  }

  /** Everything from before has been taken: writes the files anew, and goes on from there. */
  goLive(): void {
    this.#isLive = true;
    this.#quietly(() => {
      replace(this.#folder.iterationsLog, this.#log);
      // The complaints of old checks are in old logs: what is written already is not written again.
      const there = readText(this.#folder.progressFile).match(/^## Iteration /gm)?.length ?? 0;
      if (there > this.#entries.length) replace(this.#folder.progressFile, '');
      const missing = this.#entries.slice(there > this.#entries.length ? 0 : there);
      appendFileSync(this.#folder.progressFile, missing.map((entry) => entry()).join(''));
    });
    this.#log = '';
    this.#entries = [];
    this.flush();
  }

  /** Brings the files up to date now. */
  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#append();
    const content = stateFile(this.#state, this.#account, this.#about());
    this.#writtenLimit = this.#state.policy.limits.iterations;
    this.#quietly(() => replace(this.#folder.stateFile, `${JSON.stringify(content, null, 2)}\n`));
  }

  /** A `max_iterations` that somebody wrote into `state.json` by hand. */
  edits(state: LoopState): readonly Happening[] {
    const limit = readLimit(this.#folder.stateFile);
    const { policy } = state;
    // What we wrote last is not somebody's wish, also when the limit has changed since.
    if (limit === null || limit === this.#writtenLimit || limit === policy.limits.iterations) return [];
    return [
      { type: 'policy.changed', policy: { ...policy, limits: { ...policy.limits, iterations: limit } } },
    ];
  }

  #append(): void {
    if (!this.#isLive || (this.#log === '' && this.#entries.length === 0)) return;
    this.#quietly(() => {
      if (this.#log !== '') appendFileSync(this.#folder.iterationsLog, this.#log);
      for (const entry of this.#entries) appendFileSync(this.#folder.progressFile, entry());
    });
    this.#log = '';
    this.#entries = [];
  }

  /** The journal is the truth: a projection that cannot be written must not stop the loop. */
  #quietly(write: () => void): void {
    try {
      mkdirSync(this.#folder.path, { recursive: true });
      write();
    } catch {
      // It will be made anew.
    }
  }
}

function replace(path: string, content: string): void {
  const aside = `${path}.${process.pid}`;
  writeFileSync(aside, content);
  renameSync(aside, path);
}

function readText(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

function readLimit(path: string): number | null {
  try {
    const value: unknown = JSON.parse(readText(path));
    if (typeof value !== 'object' || value === null || !('max_iterations' in value)) return null;
    const limit = value.max_iterations;
    return typeof limit === 'number' && Number.isInteger(limit) && limit > 0 ? limit : null;
  } catch {
    return null;
  }
}
