/**
 * The driver: carries out the effects that `decide` wants and journals their results.
 *
 * E1  Every event is judged by `admits`, journaled, then folded; nothing else changes the state.
 * E2  The driver starts every wanted effect that is not in flight, and interrupts every effect in flight that is no
 *     longer wanted. It starts nothing else before an interrupted effect is gone.
 * E3  The journal is synced before a run, a check, a commit or a restored file, before a wait, and before the sender learns
 *     that a control was taken. Looks, prompts and checkpoints write only what is replaced when they are carried out again.
 * E4  The driver ends an open run that is not wanted, even one that it knows only from the journal.
 * E5  An effect that throws ends the loop as `fatal`. When the journal cannot be written, the driver ends everything in
 *     flight and does nothing more: the next owner finds the loop as the journal has it.
 * E6  `run` returns only when nothing is in flight; after that the driver writes nothing more.
 * E7  After `leave` the driver starts and ends nothing. The open run keeps running behind its shim, every other effect is
 *     interrupted, the journal says so and is synced, and `run` returns `left`. The next owner adopts the run and repeats the rest.
 *     A run that was being ended already is ended first.
 */
import { JournalError } from '../journal/journal.ts';
import { admits } from '../loop/admit.ts';
import { decide } from '../loop/decide.ts';
import type { Effect } from '../loop/effect.ts';
import type { Control, Happening, LoopEvent } from '../loop/event.ts';
import { learn, type Knowledge, type LoopReport } from '../loop/report.ts';
import { openRun } from '../loop/run.ts';
import type { LoopState, Run } from '../loop/state.ts';
import type { Driver, Ports, EffectOf } from './ports.ts';
import { endRun, performRun } from './run.ts';
import { Task } from './task.ts';

/** The result of a checkpoint outside of a repository: none was taken, and that is no error. */
const NO_CHECKPOINT = { ref: null, error: null } as const;

export class Engine implements Driver {
  readonly #ports: Ports;
  readonly #tasks = new Map<string, Task>();
  #known: Knowledge;
  #length: number;
  /** Initially false, because an owner that died may have left unsynced events. */
  #isSynced = false;
  /** Why the journal can no longer be written. */
  #lost: unknown = null;
  #isLeaving = false;
  #hasStopped = false;
  #failedAborts = 0;
  #isReconciling = false;
  #askAgain = false;
  #settle: ((stop: EngineStop) => void) | null = null;
  #fail: ((error: unknown) => void) | null = null;

  /** `known` is what the journal folds to. */
  constructor(ports: Ports, known: Knowledge) {
    this.#ports = ports;
    this.#known = known;
    this.#length = ports.journal.length;
  }

  get state(): LoopState {
    return this.#known.state;
  }

  get report(): LoopReport {
    return this.#known.report;
  }

  /** Why the journal cannot be written; null while it can. */
  get lost(): unknown {
    return this.#lost;
  }

  get ports(): Ports {
    return this.#ports;
  }

  /** Drives the loop until it ends, is paused or left, or its journal cannot be written. */
  run(): Promise<EngineStop> {
    return new Promise((resolve, reject) => {
      this.#settle = resolve;
      this.#fail = reject;
      this.#reconcile();
    });
  }

  /** Stops driving and leaves what runs to the next owner (E7); `run` then returns `left`. */
  leave(): void {
    if (!this.#ports.host.outlivesOwner)
      throw new Error('cannot leave a loop whose agent is a function: the function ends with its program');
    this.#isLeaving = true;
    this.#reconcile();
  }

  /** Journals a control, if the loop can obey it now. */
  receive(id: string, control: Control): Received {
    if (this.#known.state.control.seen.includes(id)) return 'known';
    const { created, outcome } = this.#known.state;
    if (!created || outcome !== null || this.#lost !== null || this.#isLeaving || this.#hasStopped)
      return 'later';
    if (!this.append({ type: 'control.received', id, control }))
      return this.#lost === null ? 'refused' : 'later';
    this.sync();
    this.#reconcile();
    return 'taken';
  }

  /** Writes an event and reconciles; false if the event is no longer admitted. */
  write(happening: Happening): boolean {
    const written = this.append(happening);
    this.#reconcile();
    return written;
  }

  /** Writes an event; false when it is not admitted. */
  append(happening: Happening): boolean {
    if (this.#lost !== null || this.#hasStopped) return false;
    const event: LoopEvent = { ...happening, at: Math.max(this.#known.state.now, this.#ports.clock.now()) };
    if (!admits(this.#known.state, event)) return false;
    try {
      this.#ports.journal.append(event, this.#length);
    } catch (error) {
      this.#lose(error);
      return false;
    }
    this.#length++;
    this.#isSynced = false;
    this.#known = learn(this.#known, event);
    const { state, report } = this.#known;
    for (const observer of this.#ports.observers) observer.appended?.(event, state, report);
    return true;
  }

  /** Returns when all journaled events would survive a crash of the machine. */
  sync(): void {
    if (this.#isSynced || this.#lost !== null) return;
    try {
      this.#ports.journal.sync();
      this.#isSynced = true;
    } catch (error) {
      this.#lose(error);
    }
  }

  /** Notices that the journal was removed or changed while nothing was written. */
  verifyJournal(): void {
    if (this.#lost !== null) return;
    try {
      this.#ports.journal.verify();
    } catch (error) {
      this.#lose(error);
    }
  }

  /** Asks what is wanted until everything wanted is in flight. */
  #reconcile(): void {
    this.#askAgain = true;
    if (this.#isReconciling || this.#settle === null) return;
    this.#isReconciling = true;
    try {
      while (this.#askAgain) {
        this.#askAgain = false;
        this.#step();
      }
    } catch (error) {
      this.#fail?.(error);
    } finally {
      this.#isReconciling = false;
    }
  }

  #step(): void {
    if (this.#isLeaving && this.#lost === null) return this.#letGo();
    const wanted = this.#lost === null ? decide(this.#known.state) : [];
    const byKey = new Map(wanted.map((effect) => [effect.key, effect]));
    for (const task of this.#tasks.values()) {
      const effect = byKey.get(task.effect.key);
      if (effect === undefined) task.interrupt();
      else task.update(effect);
    }
    if ([...this.#tasks.values()].some(({ interrupted }) => interrupted.aborted)) return;

    const open = openRun(this.#known.state);
    if (this.#lost === null && open !== null && !byKey.has(`run:${open.id}`)) {
      this.#endRun(open);
      return;
    }
    const record = wanted.find((effect) => effect.type === 'record');
    if (record !== undefined) {
      this.#record(record);
      this.#askAgain = true;
      return;
    }
    for (const effect of wanted) {
      if (effect.type === 'rest' || effect.type === 'record' || this.#tasks.has(effect.key)) continue;
      this.#carryOut(new Task(effect), (task) => this.#perform(effect, task));
    }
    if (this.#tasks.size === 0) this.#stop();
  }

  #record({ event, moveAside }: EffectOf<'record'>): void {
    const isAboutLimit =
      event.type === 'iteration.started' ||
      (event.type === 'loop.ended' && event.outcome.type === 'iterations-exhausted');
    const edits = isAboutLimit ? this.#ports.workspace.edits(this.#known.state) : [];
    if (edits.some((edit) => this.append(edit))) return;
    if (moveAside.length > 0) {
      this.sync();
      try {
        this.#ports.workspace.moveAside(moveAside);
      } catch (error) {
        return this.#trouble(error);
      }
    }
    if (!this.append(event) && this.#lost === null)
      throw new Error(`internal error: ${event.type} was decided but not admitted`);
    if (event.type === 'loop.ended') this.sync();
  }

  /** Leaves the open run running and interrupts every other effect. */
  #letGo(): void {
    for (const task of this.#tasks.values()) {
      if (task.effect.type === 'run') task.leave();
      else task.interrupt();
    }
    if (this.#tasks.size === 0) this.#stop();
  }

  /** Ends a run that is no longer wanted and that no task of this driver follows. */
  #endRun(open: Run): void {
    const task = new Task({ type: 'rest', key: `run:${open.id}` });
    task.interrupt();
    this.#carryOut(task, () => endRun(this, open));
  }

  #carryOut(task: Task, work: (task: Task) => Promise<void>): void {
    const { key } = task.effect;
    this.#tasks.set(key, task);
    const gone = (): void => {
      this.#tasks.delete(key);
      this.#reconcile();
    };
    work(task).then(gone, (error: unknown) => {
      this.#trouble(error);
      gone();
    });
  }

  async #perform(effect: Exclude<Effect, { type: 'record' | 'rest' }>, task: Task): Promise<void> {
    const { workspace, clock, observers } = this.#ports;
    if (needsSync(effect, clock.now())) this.sync();
    for (const observer of observers) observer.began?.(effect);
    switch (effect.type) {
      case 'probe': {
        const found = await workspace.probe(effect, task.interrupted);
        if (found === null) return;
        const { state } = this.#known;
        // A marker may complete the loop before any run has ended, and then it waits for its children.
        if (state.policy.children !== null && found.markers.length > 0)
          for (const change of workspace.childChanges(state)) this.append(change);
        this.append({ type: 'probe.finished', key: effect.key, phase: effect.phase, ...found });
        return;
      }
      case 'examine': {
        const found = await workspace.examine(effect);
        this.append({ type: 'evidence.examined', key: effect.key, ...found });
        return;
      }
      case 'restore': {
        const restoration = await workspace.restore(effect);
        this.append({ type: 'evidence.restored', key: effect.key, ...restoration });
        return;
      }
      case 'run':
        return performRun(this, effect, task);
      case 'check': {
        const { iteration, run, index, check } = effect;
        const { killGraceMs } = this.#known.state.policy.timeouts;
        const result = await workspace.check(effect, killGraceMs, task.interrupted);
        if (result === null) return;
        this.append({ type: 'check.finished', iteration, run, index, command: check.command, result });
        return;
      }
      case 'changes': {
        const found = await workspace.changes(effect, task.interrupted);
        if (found === null) return;
        this.append({ type: 'changes.found', iteration: effect.iteration, ...found });
        return;
      }
      case 'commit': {
        const { killGraceMs } = this.#known.state.policy.timeouts;
        const made = await workspace.commit(effect, killGraceMs, task.interrupted);
        if (made === null) return;
        this.append({ type: 'commit.made', iteration: effect.iteration, ...made });
        return;
      }
      case 'checkpoint': {
        const taken = workspace.hasRecords()
          ? await workspace.checkpoint(effect, task.interrupted)
          : NO_CHECKPOINT;
        if (taken === null) return;
        this.append({ type: 'checkpoint.taken', iteration: effect.iteration, ...taken });
        return;
      }
      case 'wait':
      case 'alarm':
        if (await task.sleep(clock)) this.append({ type: 'timer.fired', key: effect.key });
        return;
      case 'children':
        return this.#watchChildren(task);
    }
  }

  async #watchChildren(task: Task): Promise<void> {
    const { clock, workspace } = this.#ports;
    for (;;) {
      const { effect } = task;
      if (effect.type !== 'children' || task.interrupted.aborted) return;
      for (const change of workspace.childChanges(this.#known.state)) this.append(change);
      if (this.#known.state.children.length === 0) return;
      if (clock.now() >= effect.until) {
        this.append({ type: 'timer.fired', key: effect.key });
        return;
      }
      // oxlint-disable-next-line no-await-in-loop -- a child is another program's loop, polled as the policy says
      await task.sleep(clock, Math.min(effect.until, clock.now() + effect.pollMs));
    }
  }

  #trouble(error: unknown): void {
    if (this.#lost !== null) return;
    // When ending the loop fails too, retry a few times and then give up.
    const isAborting = (this.#known.state.control.stop?.abort ?? null) !== null;
    if (isAborting && ++this.#failedAborts > MAX_FAILED_ABORTS) this.#lose(error);
    if (this.#lost !== null) return;
    const message = error instanceof Error ? error.message : String(error);
    const id = `trouble-${this.#length}`;
    if (!this.append({ type: 'control.received', id, control: { type: 'abort', message } }))
      this.#lose(error);
  }

  /** The journal can no longer be written: ends everything in flight and leaves the journal unchanged. */
  #lose(error: unknown): void {
    this.#lost ??= error;
    this.#reconcile();
  }

  #stop(): void {
    const { outcome } = this.#known.state;
    if (this.#isLeaving && outcome === null) this.append({ type: 'owner.left' });
    this.sync();
    const settle = this.#settle;
    this.#settle = null;
    this.#hasStopped = true;
    if (this.#lost instanceof JournalError) settle?.({ why: 'lost', error: this.#lost });
    else if (this.#lost !== null) this.#fail?.(this.#lost);
    else if (outcome !== null) settle?.({ why: 'ended', outcome });
    else settle?.({ why: this.#isLeaving ? 'left' : 'paused' });
  }
}

const MAX_FAILED_ABORTS = 3;

/** Whether the journal is synced before an effect begins (E3). A run is synced when its plan is written. */
function needsSync(effect: Effect, now: number): boolean {
  switch (effect.type) {
    case 'restore':
    case 'check':
    case 'commit':
      return true;
    case 'wait':
    case 'children':
      // Most turns end with a wait that is already over.
      return effect.until === null || effect.until > now;
    case 'record':
    case 'rest':
    case 'probe':
    case 'examine':
    case 'run':
    case 'changes':
    case 'checkpoint':
    case 'alarm':
      return false;
  }
}

/** Why the engine stopped driving. */
export type EngineStop =
  | { readonly why: 'ended'; readonly outcome: NonNullable<LoopState['outcome']> }
  /** It waits until a person resumes it. */
  | { readonly why: 'paused' }
  /** It was left to the next owner; its agent may still run. */
  | { readonly why: 'left' }
  /** The journal cannot be written: the disk is full, or another process is the owner now. */
  | { readonly why: 'lost'; readonly error: JournalError };

/** What became of a control: journaled now, journaled before, to be delivered again later, or not admitted. */
export type Received = 'taken' | 'known' | 'later' | 'refused';
