/**
 * The driver: makes what `decide` wants come true, and journals what came of it.
 *
 * E1  Every event is judged by `admits`, journaled, then folded; nothing else changes the state.
 * E2  What is wanted and not in flight is started; what is in flight and not wanted is interrupted, and nothing
 *     else is started before it is gone.
 * E3  The journal is synced before an effect that touches the world, and before a person is told that they were heard.
 * E4  A run that is open and not wanted is ended, also one that only the journal knows.
 * E5  Trouble with an effect ends the loop as `fatal`. Once the journal cannot be written, everything in flight is ended
 *     and nothing more is done: the next owner finds the loop as the journal has it.
 * E6  `run` returns only when nothing is in flight any more.
 */
import { JournalError } from '../journal/journal.ts';
import { admits } from '../loop/admit.ts';
import { decide } from '../loop/decide.ts';
import type { Effect } from '../loop/effect.ts';
import type { Control, Happening, LoopEvent } from '../loop/event.ts';
import { evolve } from '../loop/evolve.ts';
import { openRun } from '../loop/run.ts';
import type { LoopState, Run } from '../loop/state.ts';
import type { Driver, Ports, EffectOf } from './ports.ts';
import { endRun, performRun } from './run.ts';
import { Task } from './task.ts';

/** Outside of a repository nothing is on record, and nothing is the matter. */
const NOWHERE = { ref: null, error: null } as const;

export class Engine implements Driver {
  readonly #ports: Ports;
  readonly #tasks = new Map<string, Task>();
  #state: LoopState;
  #length: number;
  /** An owner that died may have left something unsynced. */
  #isSynced = false;
  #lost: unknown = null;
  #troubles = 0;
  #isReconciling = false;
  #askAgain = false;
  #settle: ((stop: EngineStop) => void) | null = null;
  #fail: ((error: unknown) => void) | null = null;

  /** `state` is what the journal folds to. */
  constructor(ports: Ports, state: LoopState) {
    this.#ports = ports;
    this.#state = state;
    this.#length = ports.journal.length;
  }

  get state(): LoopState {
    return this.#state;
  }

  get ports(): Ports {
    return this.#ports;
  }

  /** Drives the loop until it has ended, rests, or can no longer be journaled. */
  run(): Promise<EngineStop> {
    return new Promise((resolve, reject) => {
      this.#settle = resolve;
      this.#fail = reject;
      this.#reconcile();
    });
  }

  /** Journals what somebody wants, if it can be obeyed now. */
  receive(id: string, control: Control): Received {
    if (this.#state.control.seen.includes(id)) return 'known';
    if (!this.#state.created || this.#state.outcome !== null || this.#lost !== null) return 'later';
    if (!this.append({ type: 'control.received', id, control }))
      return this.#lost === null ? 'refused' : 'later';
    this.sync();
    this.#reconcile();
    return 'taken';
  }

  /** Writes an event, and asks what is wanted now; false when it may not be written any more. */
  report(happening: Happening): boolean {
    const written = this.append(happening);
    this.#reconcile();
    return written;
  }

  /** Writes an event; false when it may not be. */
  append(happening: Happening): boolean {
    if (this.#lost !== null) return false;
    const event: LoopEvent = { ...happening, at: Math.max(this.#state.now, this.#ports.clock.now()) };
    if (!admits(this.#state, event)) return false;
    try {
      this.#ports.journal.append(event, this.#length);
    } catch (error) {
      this.#lose(error);
      return false;
    }
    this.#length++;
    this.#isSynced = false;
    this.#state = evolve(this.#state, event);
    this.#ports.observer.appended?.(event, this.#state);
    return true;
  }

  /** Returns when what was journaled would survive a crash of the machine. */
  sync(): void {
    if (this.#isSynced || this.#lost !== null) return;
    try {
      this.#ports.journal.sync();
      this.#isSynced = true;
    } catch (error) {
      this.#lose(error);
    }
  }

  /** Somebody may have removed the journal while nothing was written. */
  look(): void {
    if (this.#lost !== null) return;
    try {
      this.#ports.journal.look();
    } catch (error) {
      this.#lose(error);
    }
  }

  /** Asks what is wanted until the answer is what is going on already. */
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
    const wanted = this.#lost === null ? decide(this.#state) : [];
    const byKey = new Map(wanted.map((effect) => [effect.key, effect]));
    for (const task of this.#tasks.values()) {
      const effect = byKey.get(task.effect.key);
      if (effect === undefined) task.interrupt();
      else task.update(effect);
    }
    if ([...this.#tasks.values()].some(({ interrupted }) => interrupted.aborted)) return;

    const open = openRun(this.#state);
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
    const edits = isAboutLimit ? this.#ports.workspace.edits(this.#state) : [];
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
      throw new Error(`${event.type} was decided and not admitted`);
    if (event.type === 'loop.ended') this.sync();
  }

  /** Only the journal knows of this run, and it is not wanted any more. */
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
    const { workspace, clock, observer } = this.#ports;
    observer.began?.(effect);
    switch (effect.type) {
      case 'probe': {
        const found = await workspace.look(effect);
        this.append({ type: 'probe.finished', key: effect.key, phase: effect.phase, ...found });
        return;
      }
      case 'run':
        return performRun(this, effect, task);
      case 'check': {
        this.sync();
        const { iteration, run, index, check } = effect;
        const { killGraceMs } = this.#state.policy.timeouts;
        const result = await workspace.check(effect, killGraceMs, task.interrupted);
        if (result === null) return;
        this.append({ type: 'check.finished', iteration, run, index, command: check.command, result });
        return;
      }
      case 'changes': {
        this.sync();
        const found = await workspace.changes(effect, task.interrupted);
        if (found === null) return;
        this.append({ type: 'changes.found', iteration: effect.iteration, ...found });
        return;
      }
      case 'commit': {
        this.sync();
        const { killGraceMs } = this.#state.policy.timeouts;
        const made = await workspace.commit(effect, killGraceMs, task.interrupted);
        if (made === null) return;
        this.append({ type: 'commit.made', iteration: effect.iteration, ...made });
        return;
      }
      case 'checkpoint': {
        const touches = workspace.hasRecords();
        if (touches) this.sync();
        const taken = touches ? await workspace.checkpoint(effect, task.interrupted) : NOWHERE;
        if (taken === null) return;
        this.append({ type: 'checkpoint.taken', iteration: effect.iteration, ...taken });
        return;
      }
      case 'wait':
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
      for (const change of workspace.family(this.#state)) this.append(change);
      if (this.#state.children.length === 0) return;
      if (clock.now() >= effect.until) {
        this.append({ type: 'timer.fired', key: effect.key });
        return;
      }
      // oxlint-disable-next-line no-await-in-loop -- a child is another program's, and its poll is the policy's
      await task.sleep(clock, Math.min(effect.until, clock.now() + effect.pollMs));
    }
  }

  #trouble(error: unknown): void {
    if (this.#lost !== null) return;
    // Whoever cannot even end what was begun does not try for ever.
    const isAborting = (this.#state.control.stop?.abort ?? null) !== null;
    if (isAborting && ++this.#troubles > MOST_TROUBLES) this.#lose(error);
    if (this.#lost !== null) return;
    const message = error instanceof Error ? error.message : String(error);
    const id = `trouble-${this.#length}`;
    if (!this.append({ type: 'control.received', id, control: { type: 'abort', message } }))
      this.#lose(error);
  }

  /** Nothing can be written any more: everything in flight is ended, and what was written stays as it is. */
  #lose(error: unknown): void {
    this.#lost ??= error;
    this.#reconcile();
  }

  #stop(): void {
    this.sync();
    const { outcome } = this.#state;
    const settle = this.#settle;
    // Whatever comes now comes too late: nobody waits for it.
    this.#settle = null;
    if (this.#lost instanceof JournalError) settle?.({ why: 'lost', error: this.#lost });
    else if (this.#lost !== null) this.#fail?.(this.#lost);
    else settle?.(outcome === null ? { why: 'paused' } : { why: 'ended', outcome });
  }
}

const MOST_TROUBLES = 3;

/** Why the engine does not go on. */
export type EngineStop =
  | { readonly why: 'ended'; readonly outcome: NonNullable<LoopState['outcome']> }
  /** Until a person says `resume`. */
  | { readonly why: 'paused' }
  /** The journal cannot be written: disk full, or somebody else is the owner now. */
  | { readonly why: 'lost'; readonly error: JournalError };

/** What became of a control: journaled; journaled before; not now; impossible. */
export type Received = 'taken' | 'known' | 'later' | 'refused';
