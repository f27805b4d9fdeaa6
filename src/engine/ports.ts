import type { RunReader } from '../agents/reader.ts';
import type { Host } from '../hosts/host.ts';
import type { Journal } from '../journal/journal.ts';
import type { Effect } from '../loop/effect.ts';
import type {
  Changes,
  CheckResult,
  Evidence,
  Happening,
  LoopEvent,
  Probe,
  PromptRecord,
  Restoration,
  RunError,
} from '../loop/event.ts';
import type { LoopReport } from '../loop/report.ts';
import type { LoopState, Run } from '../loop/state.ts';
import type { Clock } from './clock.ts';

/** Everything that the engine needs from outside; `owner/` brings the real adapters, the simulation brings fakes. */
export interface Ports {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly host: Host;
  readonly workspace: Workspace;
  /** Called in this order. */
  readonly observers: readonly Observer[];
  /** In [0, 1). */
  readonly chance: () => number;
}

/** What the other files of this folder need of the engine. */
export interface Driver {
  readonly ports: Ports;
  readonly state: LoopState;
  /** Writes an event; false when it is not admitted. */
  append(happening: Happening): boolean;
  /** Writes an event and reconciles. */
  write(happening: Happening): boolean;
  sync(): void;
}

/** The folder that the agent works in, and the loop's own files. */
export interface Workspace {
  /** Null when it was interrupted. */
  probe(effect: EffectOf<'probe'>, interrupt: AbortSignal): Promise<Probe | null>;
  moveAside(markers: readonly string[]): void;
  /** Compares the files that the evidence rests on with the start. */
  examine(effect: EffectOf<'examine'>): Promise<Evidence>;
  /** Puts changed protected files back. */
  restore(effect: EffectOf<'restore'>): Promise<Restoration>;
  /** Gathers what the prompt's plan needs and writes the prompt where the run reads it. */
  writePrompt(effect: EffectOf<'run'>): Promise<WrittenPrompt>;
  /** Reads a run's output from the beginning; what the journal already knows of it was shown before. */
  read(run: Run, state: LoopState): RunReader;
  /** A usage limit that another loop of the account has hit and that is not over yet. */
  knownLimit(now: number): { readonly resetsAt: number; readonly message: string } | null;
  /** When a file last changed after a moment; null if none did. */
  changedAfter(moment: number): Promise<number | null>;
  /** Why the files of a run cannot be written: the disk is full; null if it is not. */
  fullDisk(run: string): string | null;
  /** Null when it was interrupted. */
  check(effect: EffectOf<'check'>, graceMs: number, interrupt: AbortSignal): Promise<CheckResult | null>;
  /** Null when it was interrupted. */
  changes(effect: EffectOf<'changes'>, interrupt: AbortSignal): Promise<Changes | null>;
  /** Null when it was interrupted. */
  commit(effect: EffectOf<'commit'>, graceMs: number, interrupt: AbortSignal): Promise<Committed | null>;
  /** Whether there is a repository for checkpoints. */
  hasRecords(): boolean;
  /** Null when it was interrupted. */
  checkpoint(effect: EffectOf<'checkpoint'>, interrupt: AbortSignal): Promise<Taken | null>;
  /** What the ledger of the loop's family says, as an event; null if it has none or the journal has it already. */
  familyCount(state: LoopState): Happening | null;
  /** Children that started or ended since the journal last recorded it, as events. */
  childChanges(state: LoopState): readonly Happening[];
  /** The process groups of recorded children, which outlive their run. */
  sparedGroups(state: LoopState): readonly number[];
  /** Questions on the bus that the journal does not have yet, as events. */
  questions(state: LoopState): readonly Happening[];
  /** Changes that a person made in the loop's files, as events. */
  edits(state: LoopState): readonly Happening[];
}

/** The SCM tasks that were carried out, the commit if one was made, and why the remaining tasks were not. */
export interface Committed {
  readonly commit: string | null;
  readonly done: readonly string[];
  readonly error: string | null;
  /** Of the commit; absent if git does not report it. */
  readonly subject?: string;
  readonly files?: number;
  /** The branch that it was made on; null for a detached HEAD, absent if that is unknown. */
  readonly branch?: string | null;
}

/** The record of the tree, and why it or a part of it is missing; both are null outside of a repository. */
export interface Taken {
  readonly ref: string | null;
  readonly error: string | null;
  /** The id of the tree; absent if none was recorded. */
  readonly tree?: string;
  /** Of that tree; absent if it was not asked for or is not known. */
  readonly fingerprint?: string;
}

export type EffectOf<Type extends Effect['type']> = Extract<Effect, { type: Type }>;

export type WrittenPrompt = PromptRecord | { readonly error: RunError };

/** Called after something has happened. */
export interface Observer {
  /** An event was journaled; `state` and `report` are those after it. */
  appended?(event: LoopEvent, state: LoopState, report: LoopReport): void;
  /** A running agent wrote to stderr. */
  complained?(run: Run, chunk: Buffer): void;
  /** Settles when the observer can take more output; undefined when it can at once. */
  ready?(): Promise<void> | undefined;
  /** An effect has begun that a person may have to wait for. */
  began?(effect: Effect): void;
}
