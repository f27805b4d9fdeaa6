import type { RunReader } from '../agents/reader.ts';
import type { Host } from '../hosts/host.ts';
import type { Journal } from '../journal/journal.ts';
import type { Effect } from '../loop/effect.ts';
import type { Changes, CheckResult, Happening, LoopEvent, Probe, RunError } from '../loop/event.ts';
import type { LoopState, Run } from '../loop/state.ts';
import type { Clock } from './clock.ts';

/** Everything that the engine needs from outside; `owner/` brings the real ones, the simulation brings others. */
export interface Ports {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly host: Host;
  readonly workspace: Workspace;
  readonly observer: Observer;
  /** In [0, 1). */
  readonly chance: () => number;
}

/** What the parts of the engine need of it. */
export interface Driver {
  readonly ports: Ports;
  readonly state: LoopState;
  /** Writes an event; false when it may not be. */
  append(happening: Happening): boolean;
  /** Writes an event, and asks what is wanted now. */
  report(happening: Happening): boolean;
  sync(): void;
}

/** The folder that the work is done in, and the loop's own. */
export interface Workspace {
  look(effect: EffectOf<'probe'>): Promise<Probe>;
  moveAside(markers: readonly string[]): void;
  /** Gathers what the plan needs and writes the prompt where the run will read it. */
  writePrompt(effect: EffectOf<'run'>): Promise<WrittenPrompt>;
  /** Starts to read a run's output from the beginning; what the journal knows of it has been shown. */
  read(run: Run, state: LoopState): RunReader;
  /** A usage limit that other loops of the account have met, and that is not over at this moment. */
  knownLimit(now: number): { readonly resetsAt: number; readonly message: string } | null;
  /** The moment of the last change to a file after this one; null if there was none. */
  changedAfter(moment: number): Promise<number | null>;
  /** Null when it was interrupted. */
  check(effect: EffectOf<'check'>, graceMs: number, interrupt: AbortSignal): Promise<CheckResult | null>;
  /** Null when it was interrupted. */
  changes(effect: EffectOf<'changes'>, interrupt: AbortSignal): Promise<Changes | null>;
  /** Null when it was interrupted. */
  commit(effect: EffectOf<'commit'>, graceMs: number, interrupt: AbortSignal): Promise<Committed | null>;
  /** Whether there is a repository to put the tree on record in. */
  hasRecords(): boolean;
  /** Null when it was interrupted. */
  checkpoint(effect: EffectOf<'checkpoint'>, interrupt: AbortSignal): Promise<Taken | null>;
  /** Child loops that have come or gone, as events. */
  family(state: LoopState): readonly Happening[];
  /** What a person changed in the loop's files before the next iteration, as events. */
  edits(state: LoopState): readonly Happening[];
}

/** The tasks that were carried out, the commit where it has a name, and why no more of them were. */
export interface Committed {
  readonly commit: string | null;
  readonly done: readonly string[];
  readonly error: string | null;
  /** Of the commit, where that could be told. */
  readonly subject?: string;
  readonly files?: number;
}

/** Where the tree is on record, and why it or a part of it is not; neither outside of a repository. */
export interface Taken {
  readonly ref: string | null;
  readonly error: string | null;
}

export type EffectOf<Type extends Effect['type']> = Extract<Effect, { type: Type }>;

export type WrittenPrompt = { readonly path: string; readonly hash: string } | { readonly error: RunError };

/** Told about everything, after it has happened. */
export interface Observer {
  appended?(event: LoopEvent, state: LoopState): void;
  /** A running agent wrote to its standard error. */
  complained?(run: Run, chunk: Buffer): void;
  /** When it can take more output; nothing where it can at once. */
  ready?(): Promise<void> | undefined;
  /** Something is going on that a person may have to wait for. */
  began?(effect: Effect): void;
}
