/**
 * `state.json`, `iterations.log` and `progress.md`: what the journal says, for people and other programs. They are
 * brought up to date from the journal whenever a loop gets an owner, so nothing depends on them.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync, statSync, truncateSync } from 'node:fs';
import { resolve } from 'node:path';
import type { LoopFolder } from '../store/store.ts';
import { account, NO_ACCOUNT, type Account } from '../journal/account.ts';
import { readJournal, type JournalReader } from '../journal/file.ts';
import { logLines } from '../journal/iterations-log.ts';
import { completesIteration, progressEntry } from '../journal/progress-file.ts';
import { replaceFile } from '../store/replace-file.ts';
import { readSnapshot, snapshotText, type JournalMark, type Snapshot } from '../journal/snapshot.ts';
import { stateFile, type AboutLoop } from '../journal/state-file.ts';
import type { Happening, LoopEvent } from '../loop/event.ts';
import { evolve, INITIAL } from '../loop/evolve.ts';
import type { LoopState } from '../loop/state.ts';
import { reasonOf } from '../user-error.ts';
import { firstLine } from '../store/excerpts.ts';

/** How long a change may take to show in the files. */
const SHOWN_AFTER_MS = 200;

/** A journal that is this much longer than its snapshot gets a new one. */
const EVENTS_A_SNAPSHOT = 1000;

export interface ProjectionContext {
  readonly workspace: string;
  readonly about: () => AboutLoop;
  /** A text as it may be told. */
  readonly mask: (text: string) => string;
  readonly warn: (line: string) => void;
}

export class ProjectionFiles implements JournalReader {
  readonly known: JournalMark | null;
  readonly #snapshot: Snapshot | null;
  readonly #folder: LoopFolder;
  readonly #for: ProjectionContext;
  #mark: (() => JournalMark) | null = null;
  #state: LoopState = INITIAL;
  #account: Account = NO_ACCOUNT;
  /** What is to be written, and how much was written before that. */
  #log = '';
  #logBytes = 0;
  #entries: (() => string)[] = [];
  #entriesBefore = 0;
  #snapshotAt = 0;
  #isLive = false;
  readonly #complainedOf = new Set<string>();
  #timer: NodeJS.Timeout | null = null;
  #wishedLimit: number | null = null;
  #writtenLimit: number | null = null;
  #writtenAt: number | null = null;

  constructor(folder: LoopFolder, context: ProjectionContext) {
    this.#folder = folder;
    this.#for = context;
    this.#snapshot = readSnapshot(folder.snapshot);
    this.known = this.#snapshot?.mark ?? null;
  }

  get account(): Account {
    return this.#account;
  }

  get state(): LoopState {
    return this.#state;
  }

  begin(isKnown: boolean): void {
    if (!isKnown || this.#snapshot === null) return;
    const { state, account: known, logBytes, entries, mark } = this.#snapshot;
    this.#state = state;
    this.#account = known;
    this.#logBytes = logBytes;
    this.#entriesBefore = entries;
    this.#snapshotAt = mark.events;
  }

  /** An event of the journal, in its order; live, with the state after it, or from before. */
  take(event: LoopEvent, after?: LoopState): void {
    const before = this.#state;
    const known = this.#account;
    const { workspace, mask } = this.#for;
    const first = (log: string): string => firstLine(resolve(workspace, log));
    if (completesIteration(event, before, known))
      this.#entries.push(() => mask(progressEntry(before, known, first)));
    this.#state = after ?? evolve(before, event);
    this.#account = account(known, event, before);
    for (const line of logLines(event, this.#state, this.#account)) this.#log += `${mask(line)}\n`;
    // Whoever changes the policy has the last word.
    if (before.policy !== this.#state.policy) this.#wishedLimit = null;
    if (!this.#isLive) return;
    // Another limit must be in the file before anybody can take the old one for a wish.
    if (before.policy !== this.#state.policy) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), SHOWN_AFTER_MS).unref();
  }

  /** The whole journal has been taken; `mark` tells how far it is from now on. */
  follow(mark: () => JournalMark): void {
    this.#mark = mark;
    const written = readLimit(this.#folder.stateFile);
    const { iterations } = this.#state.policy.limits;
    // Somebody may have changed it while nobody drove the loop.
    if (this.#state.created && written !== null && written !== iterations) this.#wishedLimit = written;
    this.#writtenLimit = written;
  }

  /** Everything from before has been taken: brings the files up to date, and goes on from there. */
  goLive(): void {
    this.#isLive = true;
    this.#quietly(() => {
      const { iterationsLog, progressFile } = this.#folder;
      if (sizeOf(iterationsLog) < this.#logBytes) this.#logBytes = sizeOf(iterationsLog);
      else if (existsSync(iterationsLog)) truncateSync(iterationsLog, this.#logBytes);
      // The complaints of old checks are in old logs: what is written already is not written again.
      const there = readText(progressFile).match(/^## Iteration /gm)?.length ?? 0;
      const behind = this.#entriesBefore + this.#entries.length - there;
      this.#entriesBefore = there;
      this.#entries = behind > 0 ? this.#entries.slice(-behind) : [];
    });
    this.flush();
  }

  /** The files were removed: makes them anew from the whole journal. */
  rebuild(): void {
    const anew = new ProjectionFiles(this.#folder, this.#for);
    readJournal(this.#folder.journal, { take: (event) => anew.take(event) });
    anew.goLive();
    this.#logBytes = anew.#logBytes;
    this.#entriesBefore = anew.#entriesBefore;
    this.#log = '';
    this.#entries = [];
    this.#writtenLimit = anew.#writtenLimit;
  }

  /** The progress file with everything that has happened until now: the next prompt must not miss the last entry. */
  readProgress(): string {
    this.#append();
    try {
      const earlier = readText(this.#folder.earlierProgress).trim();
      const before = earlier === '' ? '' : `# Of an earlier loop\n\n${earlier}\n\n# Of this loop\n\n`;
      return `${before}${readText(this.#folder.progressFile)}`;
    } catch (error) {
      this.#complain(this.#folder.progressFile, error);
      return '';
    }
  }

  /** Brings the files up to date now. */
  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#append();
    this.#noticeEdit();
    const { about, mask } = this.#for;
    const checks = this.#account.checks.map((check) => ({ ...check, command: mask(check.command) }));
    const content = stateFile(this.#state, { ...this.#account, checks }, about());
    this.#writtenLimit = this.#wishedLimit ?? this.#state.policy.limits.iterations;
    // Until it is journaled a wish stays where it was written, or a crash would lose it.
    if (this.#wishedLimit !== null) content['max_iterations'] = this.#wishedLimit;
    this.#quietly(() => replaceFile(this.#folder.stateFile, `${JSON.stringify(content, null, 2)}\n`));
    this.#writtenAt = timeOf(this.#folder.stateFile);
    this.#takeSnapshot();
  }

  /** A `max_iterations` that somebody wrote into `state.json` by hand. */
  edits(state: LoopState): readonly Happening[] {
    this.#noticeEdit();
    const limit = this.#wishedLimit;
    const { policy } = state;
    this.#wishedLimit = null;
    if (limit === null || limit === policy.limits.iterations) return [];
    return [
      { type: 'policy.changed', policy: { ...policy, limits: { ...policy.limits, iterations: limit } } },
    ];
  }

  /** Somebody's wish must not be lost to our own next writing; what we wrote last is nobody's wish. */
  #noticeEdit(): void {
    const time = timeOf(this.#folder.stateFile);
    if (time === this.#writtenAt) return;
    const limit = readLimit(this.#folder.stateFile);
    if (this.#isLive && limit !== null && limit !== this.#writtenLimit) this.#wishedLimit = limit;
  }

  #append(): void {
    if (!this.#isLive || (this.#log === '' && this.#entries.length === 0)) return;
    if (this.#grows(this.#folder.iterationsLog, this.#log)) {
      this.#logBytes += Buffer.byteLength(this.#log);
      this.#log = '';
    }
    const entries = this.#entries.map((entry) => entry());
    if (this.#grows(this.#folder.progressFile, entries.join(''))) {
      this.#entriesBefore += entries.length;
      this.#entries = [];
    }
  }

  /** All of a text or nothing; what could not be written is tried again with what comes next. */
  #grows(file: string, text: string): boolean {
    if (text === '') return true;
    const size = sizeOf(file);
    try {
      mkdirSync(this.#folder.path, { recursive: true });
      appendFileSync(file, text);
      this.#complainedOf.delete(file);
      return true;
    } catch (error) {
      this.#complain(file, error);
      if (sizeOf(file) > size) truncateSync(file, size);
      return false;
    }
  }

  /** Once for as long as it lasts. */
  #complain(file: string, error: unknown): void {
    if (this.#complainedOf.has(file)) return;
    this.#complainedOf.add(file);
    this.#for.warn(`warning: ${file} cannot be kept: ${reasonOf(error)}; the loop goes on without it`);
  }

  #takeSnapshot(): void {
    const mark = this.#mark?.();
    if (mark === undefined || !this.#isLive || mark.events < this.#snapshotAt + EVENTS_A_SNAPSHOT) return;
    this.#snapshotAt = mark.events;
    const [state, known] = [this.#state, this.#account];
    const [logBytes, entries] = [this.#logBytes, this.#entriesBefore];
    this.#quietly(() =>
      replaceFile(this.#folder.snapshot, snapshotText({ mark, state, account: known, logBytes, entries })),
    );
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

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** When a file was changed, in fractions of a millisecond. */
function timeOf(path: string): number | null {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? null;
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
