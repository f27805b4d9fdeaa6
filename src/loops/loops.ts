/**
 * The hall: everything that can be done with loops, for every front.
 *
 * 1. What goes in and out is plain JSON, so that the same verbs work here, from inside a sandbox, and later from other machines.
 * 2. Nothing is printed, and no signal is handled. A call that waits ends when its signal aborts.
 * 3. What a caller may do is decided here (`rights.ts`), for every verb, and nowhere else.
 * 4. Nothing that goes out has a secret of the loop.
 */
import type { Control } from '../loop/event.ts';
import type { OpenQuestion } from '../loop/questions.ts';
import type { LoopReport } from '../loop/report.ts';
import type { LoopState } from '../loop/state.ts';
import type { CreatedLoop } from '../owner/created-loop.ts';
import type { StartRequest } from '../owner/make-request.ts';
import type { OwnedLoop } from '../owner/owner.ts';
import type { Spec } from '../home/spec.ts';
import type { About } from './about.ts';
import type { Doing } from './doing.ts';
import type { Merged } from './merge.ts';
import type { Changes, ListMark } from './changes.ts';
import type { CreateHelp } from './create.ts';
import type { LoopDiff, TerminalCommand, Trees } from './diff.ts';
import type { EventsFrom, Page } from './events.ts';
import type { FactsOptions, LoopFacts } from './facts.ts';
import type { Filter, LoopRow, Strays } from './list.ts';
import type { Moved } from './move.ts';
import type { LoopSummary } from './summary.ts';
import type { Chunk, Range, RunOf, What } from './output.ts';
import type { ChildNow } from './view.ts';
import type { RemovedWorktree } from './remove-worktree.ts';
import type { GoneLoop, Removed } from './remove.ts';
import type { Resumed, ResumeHelp, ResumeRequest } from './resume.ts';
import type { Rewound } from './rewind.ts';
import type { GiveHelp } from './start.ts';
import type { WorktreeSummary } from './worktrees.ts';

export type { AgentEvent, TodoItem } from '../agents/agent.ts';
export type { LoopRequest } from '../owner/create-loop.ts';
export type { Loaded, StartRequest } from '../owner/make-request.ts';
export type { OwnedLoop } from '../owner/owner.ts';
/** What a front gets of a loop that is driven or shown in its own process. */
export type { Mask } from '../home/mask.ts';
export type { LoopObserver } from '../owner/observer.ts';
export type { EndRecord } from '../projections/end-record.ts';

/** The refusals of a new loop that a front may tell apart, to say them in other words. Another front shows their message. */
export { NameTaken, NoAgentSelected } from '../owner/refusals.ts';
export { NoRepository, TreeNotMade } from '../workspace/worktree-place.ts';

export interface Loops {
  /** The loop of this name in a folder or above it; `self` is the one of the run that asks. */
  find(name: string, folder: string): Promise<LoopRef>;
  /** The loops that a filter wants, by workspace and name. */
  list(filter: Filter): Promise<readonly LoopRow[]>;
  /** What is no loop of the workspace of a folder and looks like one; without a folder, the loops whose workspace is gone. */
  strays(folder: string | null): Promise<Strays>;
  /** What has changed in the list since a reader has seen it; all rows if that was never. Waits for news. */
  changes(filter: Filter, from: ListMark | null, call?: Call): Promise<Changes>;
  get(loop: LoopRef): Promise<LoopView>;
  /** What has happened, from a place on: every event once, also over a crash of its owner. Waits for news. */
  events(loop: LoopRef, part: EventsFrom, call?: Call): Promise<Page>;
  /** The runs of a loop, the first one first. */
  runs(loop: LoopRef): Promise<readonly RunOf[]>;
  /** A piece of what a run or a check after it has printed, or of its prompt. Waits for more of an output that is not complete. */
  output(loop: LoopRef, run: string, what: What, range: Range, call?: Call): Promise<Chunk>;
  /** What a person wants to know about a loop afterwards. */
  facts(loop: LoopRef, options: FactsOptions): Promise<LoopFacts>;
  /** Starts a loop in the background: of a run, or in a sandbox, a child of its loop. */
  start(request: StartRequest, call?: Call): Promise<LoopView>;
  /** Continues a loop in the background, or the one that runs. */
  resume(loop: LoopRef, request: ResumeRequest): Promise<Sent>;
  send(loop: LoopRef, control: ControlRequest, call?: Call): Promise<Sent>;
  /** Stops a loop and all loops below it. A loop is stopped before its children, so that it gets no others. */
  stopTree(loop: LoopRef, now: boolean, call?: Call): Promise<readonly StoppedOne[]>;
  /** Ends a loop and its agent now, and returns when both are gone, whatever their owner does. */
  kill(loop: LoopRef, call?: Call): Promise<Killed>;
  /** What a loop has changed: until now, in an iteration (`3`), or between two records (`start..3`, `3..now`). */
  diff(loop: LoopRef, what: string | null): Promise<LoopDiff>;
  /** A piece of the patch between the two trees of a diff. */
  patch(loop: LoopRef, trees: Trees, range: Range): Promise<Chunk>;
  /** Puts the files of a loop back as they were in a checkpoint. */
  rewind(loop: LoopRef, checkpoint: string): Promise<Rewound>;
  /** Removes a loop that is not running, and its files. */
  remove(loop: LoopRef): Promise<Removed>;
  /** Takes the loops of a workspace that was moved along to its new place, a folder or one above it. */
  move(from: string, to: string): Promise<Moved>;
  /** Merges a loop's worktree into the branch of the workspace, once the checks pass on the result. */
  merge(loop: LoopRef, withChecks: boolean, call?: Call): Promise<Merged>;
  /** Removes the worktree of a loop and its branch; with `force`, also work that is saved nowhere else. Null if there was nothing. */
  removeWorktree(loop: LoopRef, force: boolean): Promise<RemovedWorktree | null>;
  /** Waits until no process drives a loop, and none will without a person. */
  wait(loop: LoopRef, call?: Call): Promise<Rest>;
}

/** On this machine. */
export interface LocalLoops extends Loops {
  /** `NeedsTrust` is thrown for settings that the user does not trust. */
  start(request: StartRequest, call?: Call & GiveHelp): Promise<LoopView>;
  /** Starts a loop that belongs to this process. */
  ownNew(request: StartRequest, help?: CreateHelp): Promise<OwnedLoop>;
  /**
   * Starts a loop in this process; null for one that a run starts, which belongs to the daemon: the clean-up after the run would end
   * this process.
   */
  startHere(request: StartRequest, help: GiveHelp): Promise<OwnedLoop | null>;
  /**
   * Continues a loop where it belongs: afterwards this process owns it, or the daemon, or its owner has the request. A loop that a
   * run continues belongs to the daemon: the clean-up after the run ends this process.
   */
  own(loop: LoopRef, request: ResumeRequest, help?: ResumeHelp): Promise<Resumed>;
  /** Removes the loops whose workspace is gone, and what names a loop whose state is gone, one after the other. */
  removeGone(): AsyncIterable<GoneLoop>;
  /** The worktrees of the loops of the workspace of a folder, of which the folder, the registration or the branch exists. */
  worktrees(folder: string): Promise<readonly WorktreeSummary[]>;
  /** The command that shows with the user's git what a loop has changed, for a terminal. */
  diffCommand(loop: LoopRef, what: string | null, options: readonly string[]): Promise<TerminalCommand>;
}

/** One loop. Its name may belong to another one later. */
export interface LoopRef {
  readonly id: string;
  readonly name: string;
  readonly workspace: string;
}

/** A loop that is about to be given to the daemon. */
export type Begun = Pick<CreatedLoop, 'spec' | 'folder' | 'state' | 'notes' | 'mask' | 'shownCommand'>;

/** How a verb is called. */
export interface Call {
  readonly signal?: AbortSignal;
  /** How many milliseconds to wait for news, of a verb that tells some; without it, none. */
  readonly wait?: number;
  /** Gets a line about what takes long; only on this machine. */
  readonly say?: (line: string) => void;
}

/** A loop as it stands. If its files cannot be read, the state is the initial one. */
export interface LoopView extends LoopRef {
  readonly summary: LoopSummary;
  /** What the loop was started with; null if that cannot be read. */
  readonly spec: Spec | null;
  readonly state: LoopState;
  readonly report: LoopReport;
  readonly children: readonly ChildNow[];
  readonly about: About;
  /** What runs now; null if nothing does. */
  readonly doing: Doing | null;
  /** The folder of its journal and logs. */
  readonly folder: string;
  /** Why its files cannot be read. */
  readonly trouble: string | null;
}

/** What a person or a program can ask of a loop. */
export type ControlRequest = Extract<
  Control,
  { type: 'pause' | 'resume' | 'stop' | 'tell' | 'answer' | 'set' }
>;

export type Sent =
  /** The owner has journaled it: the question that was answered, or whether the running step is stopped too. */
  | { readonly is: 'taken'; readonly question?: OpenQuestion; readonly now?: boolean }
  /** It waits for the next owner, who comes when a person resumes the loop, or when the session of the loop goes on. */
  | { readonly is: 'queued'; readonly until: 'resumed' | 'next turn' | 'end of turn' }
  /** The owner runs, and does not respond; it is queued. */
  | { readonly is: 'unanswered'; readonly owner: number | null }
  /** The loop continues in the background. */
  | { readonly is: 'resumed' }
  /** The loop had no owner, and has ended: this process was its owner for that time. */
  | { readonly is: 'ended' }
  /** There was nothing to do. */
  | { readonly is: 'unneeded'; readonly why: Unneeded };

export type Unneeded =
  | { readonly is: 'paused' }
  | { readonly is: 'not paused' }
  | { readonly is: 'ended' }
  /** Nothing starts the next iteration; the agent may still run. */
  | { readonly is: 'without owner'; readonly agent: number | null };

/** What has become of one loop of several. */
export interface StoppedOne {
  readonly loop: LoopRef;
  readonly sent: Sent | Problem;
}

/** An error that the user can fix. */
export interface Problem {
  readonly is: 'problem';
  readonly message: string;
  readonly exitCode: number;
}

export type Killed =
  | { readonly is: 'had ended' }
  /** `owner` is a process that did not respond, and was killed. */
  | { readonly is: 'killed'; readonly owner: number | null };

export type Rest =
  | { readonly is: 'resting'; readonly loop: LoopView }
  | { readonly is: 'removed' }
  /** The signal of the call has aborted. */
  | { readonly is: 'driven' };
