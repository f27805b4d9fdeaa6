/**
 * The files that are made from the journal for people and other programs: `state.json`, `iterations.log`, `progress.md`,
 * the records of runs and the snapshot. Every owner brings them up to date from the journal, so nothing depends on them.
 *
 * 1. The journal is the truth: a projection that cannot be written must not stop the loop.
 * 2. An entry that an earlier owner has written is not written again.
 * 3. `state.json` shows a new policy before a person can take the old limit in it for an edit.
 */
import { existsSync } from 'node:fs';
import { PRIVATE_FOLDER, makeFolders, PRIVATE_FILE } from '../files/files.ts';
import { readJournal, type JournalReader } from '../journal/file.ts';
import { type JournalMark, snapshotText, readSnapshot, type Snapshot } from '../journal/snapshot.ts';
import type { Happening, LoopEvent } from '../loop/event.ts';
import { learn, NOTHING_KNOWN, type Knowledge, type LoopReport } from '../loop/report.ts';
import type { LoopState } from '../loop/state.ts';
import type { LoopFolder } from '../home/home.ts';
import { GrowingFile } from './growing-file.ts';
import { IterationsLog } from './iterations-log.ts';
import { ProgressFile } from './progress-file.ts';
import { RunInfo, type RunInfoContext } from './run-info.ts';
import { stateContent, StateFile, type AboutLoop } from './state-file.ts';
import { replaceFile } from '../files/replace-file.ts';

/** How long a change may take to show in the files. */
const FLUSH_AFTER_MS = 200;
/** After how many events a loop that runs writes another snapshot. */
const EVENTS_PER_SNAPSHOT = 1000;

export interface ProjectionContext extends RunInfoContext {
  readonly about: () => AboutLoop;
  readonly warn: (line: string) => void;
  /** The workspace folder was removed and is made again. */
  readonly remade: () => void;
}

export class Projections implements JournalReader {
  readonly #folder: LoopFolder;
  readonly #context: ProjectionContext;
  readonly #log: IterationsLog;
  readonly #progress: ProgressFile;
  readonly #stateFile: StateFile;
  readonly #runInfo: RunInfo;
  readonly #snapshot: SnapshotFile;
  #known: Knowledge = NOTHING_KNOWN;
  #mark: (() => JournalMark) | null = null;
  #isLive = false;
  /** Whether all files have been written once, so that a missing one was removed. */
  #hasWritten = false;
  #timer: NodeJS.Timeout | null = null;

  constructor(
    folder: LoopFolder,
    context: ProjectionContext,
    { isRebuilt = false }: { readonly isRebuilt?: boolean } = {},
  ) {
    const { mask, warn } = context;
    const { workspaceFolder } = folder;
    this.#folder = folder;
    this.#context = context;
    this.#log = new IterationsLog(
      new GrowingFile(workspaceFolder, workspaceFolder.iterationsLog, warn),
      mask,
    );
    this.#progress = new ProgressFile(new GrowingFile(workspaceFolder, workspaceFolder.progressFile, warn), {
      logOf: (log) => folder.log(log),
      mask,
      earlier: folder.earlierProgress,
    });
    this.#stateFile = new StateFile(workspaceFolder);
    this.#runInfo = new RunInfo(folder, context, isRebuilt);
    this.#snapshot = new SnapshotFile(folder.snapshot);
  }

  get knownMark(): JournalMark | null {
    return this.#snapshot.mark;
  }

  /** What the journal folds to. */
  get known(): Knowledge {
    return this.#known;
  }

  begin(isKnown: boolean): void {
    const snapshot = isKnown ? this.#snapshot.use() : null;
    if (snapshot === null) return;
    this.#known = { state: snapshot.state, report: snapshot.report };
    this.#log.startAt(snapshot.logBytes);
    this.#progress.startAt(snapshot.entries);
  }

  /** Takes the next event of the journal as it is read. */
  take(event: LoopEvent): void {
    this.#update(event, learn(this.#known, event));
  }

  /** Takes an event that was just journaled. */
  appended(event: LoopEvent, state: LoopState, report: LoopReport): void {
    this.#update(event, { state, report });
  }

  #update(event: LoopEvent, after: Knowledge): void {
    const before = this.#known;
    this.#progress.take(event, before);
    this.#known = after;
    this.#log.take(event, after);
    this.#runInfo.take(event, after);
    const isNewPolicy = before.state.policy !== after.state.policy;
    if (isNewPolicy) this.#stateFile.forgetEdit();
    if (!this.#isLive) return;
    if (isNewPolicy) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), FLUSH_AFTER_MS).unref();
  }

  /** The whole journal has been taken; `mark` says how long it is from now on. */
  follow(mark: () => JournalMark): void {
    this.#mark = mark;
    this.#stateFile.open(this.#known.state);
  }

  /** Brings the files up to date and keeps them so. */
  goLive(): void {
    this.#isLive = true;
    this.#quietly(() => {
      this.#log.catchUp();
      this.#progress.catchUp();
    });
    this.#runInfo.goLive();
    this.flush();
  }

  /** Writes the files again from the whole journal, after they were removed. */
  rebuild(): void {
    const rebuilt = new Projections(this.#folder, this.#context, { isRebuilt: true });
    readJournal(this.#folder.journal, { take: (event) => rebuilt.take(event) });
    rebuilt.goLive();
    this.#log.replaceBy(rebuilt.#log);
    this.#progress.replaceBy(rebuilt.#progress);
    this.#stateFile.replaceBy(rebuilt.#stateFile);
  }

  /** Looks whether the files were removed, and makes them again. */
  look(): void {
    if (!this.#hasWritten) return;
    const { workspaceFolder } = this.#folder;
    const isGone = !existsSync(workspaceFolder.stateFile) || this.#log.isGone || this.#progress.isGone;
    // `git clean` may have removed it while the other files were being written again.
    const isMade =
      (isGone || !existsSync(workspaceFolder.ignoreFile)) && this.#quietly(() => this.#context.remade());
    // Without a workspace folder nothing can be written, and each try would read the whole journal and warn again.
    if (isGone && isMade) this.#quietly(() => this.rebuild());
  }

  /** The progress file with every entry until now: the next prompt must not miss the last one. */
  readProgress(): string {
    this.look();
    this.#append();
    return this.#progress.read();
  }

  /** Brings the files up to date for the last time. Later readers of the loop start with the snapshot. */
  close(): void {
    this.flush();
    this.#writeSnapshot(1);
  }

  /** Brings the files up to date now. */
  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.look();
    this.#append();
    this.#noticeEdit();
    const { about, mask } = this.#context;
    const { state, report } = this.#known;
    const checks = report.checks.map((check) => ({ ...check, command: mask(check.command) }));
    const content = stateContent(state, { ...report, checks }, about());
    this.#quietly(() => this.#stateFile.write(content, state.policy.limits.iterations));
    this.#writeSnapshot(EVENTS_PER_SNAPSHOT);
    this.#hasWritten = this.#isLive;
  }

  /** Changes that a person made in `state.json`, as events. */
  edits(state: LoopState): readonly Happening[] {
    this.#noticeEdit();
    return this.#stateFile.takeEdit(state);
  }

  #noticeEdit(): void {
    if (this.#isLive && this.#known.state.policy.stateEdits) this.#stateFile.noticeEdit();
  }

  #append(): void {
    if (!this.#isLive) return;
    this.#log.write();
    this.#progress.write();
    this.#runInfo.write();
  }

  /** Writes a snapshot if the journal has grown by this many events since the last one. */
  #writeSnapshot(growth: number): void {
    const mark = this.#mark?.();
    if (mark === undefined || !this.#isLive || this.#snapshot.growth(mark) < growth) return;
    const { bytes: logBytes } = this.#log;
    const { entries } = this.#progress;
    this.#quietly(() => this.#snapshot.write({ mark, ...this.#known, logBytes, entries }));
  }

  /** Whether it could be written. */
  #quietly(write: () => void): boolean {
    try {
      makeFolders(this.#folder.path, PRIVATE_FOLDER);
      write();
      return true;
    } catch {
      // The next flush, or the next owner, tries again.
      return false;
    }
  }
}

/** `snapshot.json`: what the journal folds to, so that opening it stays quick. */
class SnapshotFile {
  readonly #path: string;
  readonly #earlier: Snapshot | null;
  #takenAt = 0;

  constructor(path: string) {
    this.#path = path;
    this.#earlier = readSnapshot(path);
  }

  /** Where the snapshot of an earlier owner ends in the journal. */
  get mark(): JournalMark | null {
    return this.#earlier?.mark ?? null;
  }

  /** The snapshot of an earlier owner, once the journal has confirmed it. */
  use(): Snapshot | null {
    this.#takenAt = this.#earlier?.mark.events ?? 0;
    return this.#earlier;
  }

  /** How many events the journal has got since the last snapshot. */
  growth({ events }: JournalMark): number {
    return events - this.#takenAt;
  }

  write(snapshot: Snapshot): void {
    this.#takenAt = snapshot.mark.events;
    replaceFile(this.#path, snapshotText(snapshot), { mode: PRIVATE_FILE });
  }
}
