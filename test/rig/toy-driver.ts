import { admits } from '../../src/loop/admit.ts';
import { decide } from '../../src/loop/decide.ts';
import type { Effect } from '../../src/loop/effect.ts';
import type { Control, Happening, LoopEvent, RunEnding } from '../../src/loop/event.ts';
import { evolve, fold } from '../../src/loop/evolve.ts';
import { classify } from '../../src/loop/failure.ts';
import { openRun } from '../../src/loop/run.ts';
import type { LoopState } from '../../src/loop/state.ts';
import type { FakeWorld } from './world.ts';

/** The driver crashed and lost its memory. */
export class Crash extends Error {}

/** Shared, since a stack trace for every crash would take most of the time. */
const CRASH = new Crash();

/** Notified of everything that happens, in order. */
export interface Observer {
  appended?(before: LoopState, event: LoopEvent, after: LoopState): void;
  /** Called instead of `appended` for the result of an effect that is no longer wanted. */
  late?(before: LoopState, event: LoopEvent, after: LoopState): void;
  asked?(state: LoopState, wanted: readonly Effect[]): void;
  started?(effect: Effect): void;
}

/** What interferes with the driver, by the number of the event that was just written. */
export interface Interference {
  /** Crash right before the event is written: it has happened and is lost. */
  crashesBefore?(index: number): boolean;
  /** Crash right after the event is written. */
  crashesAfter?(index: number): boolean;
  /** Write the event a second time, as a sender does that got no confirmation. */
  repeats?(index: number): boolean;
  /** Controls and other events that arrive at this moment. */
  events?(index: number): readonly Happening[];
  /** Events at a fixed time, whatever the loop is doing then; taken from the front. */
  readonly scheduled?: { readonly at: number; readonly happening: Happening }[];
  /** A timer fires that is no longer wanted. */
  staleTimer?(index: number): boolean;
  /** The result of an old effect arrives: the number of the event to repeat. */
  lateAnswer?(index: number): number | null;
}

interface Task {
  readonly effect: Effect;
  readonly at: number;
  readonly finish: () => void;
}

/**
 * The smallest driver that follows the rules of `effect.ts`, with a journal in memory and a fake world: it starts wanted
 * effects, interrupts unwanted ones, and asks again after every event.
 */
export class ToyDriver {
  state: LoopState;
  readonly #journal: LoopEvent[];
  readonly #world: FakeWorld;
  readonly #observer: Observer;
  readonly #interference: Interference;
  readonly #tasks = new Map<string, Task>();

  constructor(
    journal: LoopEvent[],
    world: FakeWorld,
    observer: Observer = {},
    interference: Interference = {},
  ) {
    this.#journal = journal;
    this.#world = world;
    this.#observer = observer;
    this.#interference = interference;
    this.state = fold(journal);
    if (journal.length > 0) this.append({ type: 'owner.changed', owner: `owner-${journal.length}` });
  }

  /** Runs until the loop ends, rests, or has taken that many steps. */
  run(steps = 5000): 'ended' | 'resting' | 'out of steps' {
    for (let step = 0; step < steps; step++) {
      this.#reconcile();
      if (this.state.outcome !== null) return 'ended';
      const next = [...this.#tasks.values()].reduce<Task | null>(
        (a, b) => (a === null || b.at < a.at ? b : a),
        null,
      );
      const due = this.#interference.scheduled?.[0];
      if (due !== undefined && (next === null || due.at < next.at)) {
        this.#interference.scheduled?.shift();
        this.#world.advanceTo(due.at);
        this.append(due.happening);
        continue;
      }
      // Only a control ends a wait without a time.
      if (next === null || next.at === Infinity) return 'resting';
      this.#world.advanceTo(next.at);
      this.#tasks.delete(next.effect.key);
      next.finish();
    }
    return 'out of steps';
  }

  control(id: string, control: Control): void {
    this.append({ type: 'control.received', id, control });
  }

  append(happening: Happening): void {
    const isOwner = happening.type === 'owner.changed';
    if (!isOwner && this.#interference.crashesBefore?.(this.#journal.length + 1) === true) throw CRASH;
    const event: LoopEvent = { ...happening, at: Math.max(this.state.now, this.#world.clock) };
    this.#write(event);
    const index = this.#journal.length;
    if (this.#interference.repeats?.(index) === true) this.#write(event);
    if (this.#interference.staleTimer?.(index) === true) {
      const run = this.state.turn.run?.id ?? '0.0';
      this.#write({ type: 'timer.fired', key: `wait:${run}`, at: event.at });
    }
    const late = this.#journal[(this.#interference.lateAnswer?.(index) ?? 0) - 1];
    if (late !== undefined) this.#answerLate({ ...late, at: event.at });
    for (const other of this.#interference.events?.(index) ?? []) this.#write({ ...other, at: event.at });
    if (!isOwner && this.#interference.crashesAfter?.(index) === true) throw CRASH;
  }

  #write(event: LoopEvent, late = false): void {
    const before = this.state;
    if (!admits(before, event)) return;
    this.#journal.push(event);
    this.state = evolve(before, event);
    if (late) this.#observer.late?.(before, event, this.state);
    else this.#observer.appended?.(before, event, this.state);
  }

  #answerLate(event: LoopEvent): void {
    const key = keyOf(event);
    // If the same effect is wanted again, an old result is as good as a new one.
    if (key !== null && !decide(this.state).some((effect) => effect.key === key)) this.#write(event, true);
  }

  #reconcile(): void {
    for (;;) {
      const wanted = decide(this.state);
      this.#observer.asked?.(this.state, wanted);
      const keys = new Set(wanted.map(({ key }) => key));
      for (const [key, { effect }] of this.#tasks) {
        const moved = wanted.find(
          (other) =>
            other.key === key &&
            (other.type === 'wait' || other.type === 'alarm') &&
            'until' in effect &&
            other.until !== effect.until,
        );
        if (!keys.has(key) || moved !== undefined) this.#tasks.delete(key);
      }
      const open = openRun(this.state);
      if (open !== null && !keys.has(`run:${open.id}`)) {
        this.#endRun(open.id, { how: 'interrupted' });
        continue;
      }
      const record = wanted.find((effect) => effect.type === 'record');
      if (record !== undefined) {
        this.#world.moveAside(record.moveAside);
        this.append(record.event);
        continue;
      }
      const news = wanted.filter(({ key, type }) => type !== 'rest' && !this.#tasks.has(key));
      for (const effect of news) this.#start(effect);
      if (news.length === 0 || this.state.outcome !== null) return;
    }
  }

  #start(effect: Effect): void {
    const later = (ms: number, finish: () => void): void => {
      this.#tasks.set(effect.key, { effect, at: this.#world.clock + ms, finish });
    };
    // Several tasks may follow one run, which is started once.
    if (!(effect.type === 'run' && this.#world.processes.has(effect.run))) this.#observer.started?.(effect);
    switch (effect.type) {
      case 'record':
      case 'rest':
        return;
      case 'probe':
        return later(1, () =>
          this.append({
            type: 'probe.finished',
            key: effect.key,
            phase: effect.phase,
            ...this.#world.look(effect),
          }),
        );
      case 'examine':
        return later(1, () =>
          this.append({ type: 'evidence.examined', key: effect.key, ...this.#world.examine() }),
        );
      case 'restore':
        return later(1, () =>
          this.append({ type: 'evidence.restored', key: effect.key, ...this.#world.restore() }),
        );
      case 'run':
        return this.#startRun(effect);
      case 'check':
        return later(10, () => {
          const { iteration, run, index, check } = effect;
          const result = this.#world.check();
          this.append({ type: 'check.finished', iteration, run, index, command: check.command, result });
        });
      case 'changes':
        return later(1, () =>
          this.append({ type: 'changes.found', iteration: effect.iteration, ...this.#world.changes() }),
        );
      case 'commit':
        return later(5, () =>
          this.append({ type: 'commit.made', iteration: effect.iteration, ...this.#world.commit(effect) }),
        );
      case 'checkpoint':
        return later(5, () => {
          const taken = this.#world.record(effect);
          this.append({ type: 'checkpoint.taken', iteration: effect.iteration, ...taken });
        });
      case 'wait':
      case 'alarm':
        return later(Math.max(0, (effect.until ?? Infinity) - this.#world.clock), () =>
          this.append({ type: 'timer.fired', key: effect.key }),
        );
      case 'children':
        return later(Math.max(0, effect.until - this.#world.clock), () =>
          this.append({ type: 'timer.fired', key: 'children' }),
        );
    }
  }

  #startRun(effect: Extract<Effect, { type: 'run' }>): void {
    if (openRun(this.state) === null) {
      const { guidance } = effect;
      this.append({ type: 'run.planned', run: effect.run, purpose: effect.purpose, guidance, prompt: null });
      // A control may have arrived meanwhile: ask again before starting a process.
      if (!decide(this.state).some(({ key }) => key === effect.key)) return;
    }
    const process = this.#world.spawn(effect.run);
    if (process.script.ending.how === 'not-started') {
      this.#recordEnding(effect.run, process.script.ending);
      return;
    }
    this.#noteStart(effect.run);
    const half = process.startedAt + process.script.ms / 2;
    if (Number.isFinite(half) && half > this.#world.clock) {
      const finish = (): void =>
        this.append({ type: 'run.output', run: effect.run, ...this.#world.output(process) });
      this.#tasks.set(effect.key, { effect, at: half, finish });
      return;
    }
    const plannedAt = openRun(this.state)?.plannedAt ?? 0;
    const timeout = plannedAt + (effect.timeoutMs ?? Number.POSITIVE_INFINITY);
    const total = effect.notAfter ?? Number.POSITIVE_INFINITY;
    const at = Math.min(process.endsAt, timeout, total);
    const finish = (): void => {
      if (at === process.endsAt) this.#endRun(effect.run, process.script.ending);
      else this.#endRun(effect.run, { how: 'timed-out', which: at === total ? 'total' : 'wall' });
    };
    this.#tasks.set(effect.key, { effect, at, finish });
  }

  /** Journals that a run has begun, if an earlier driver died before it could. */
  #noteStart(run: string): void {
    const receipt = { pid: 1, startTime: '1', bootId: 'b', pidNamespace: 'n' };
    if (openRun(this.state)?.receipt === null) this.append({ type: 'run.started', run, receipt });
  }

  #endRun(run: string, ending: RunEnding): void {
    this.#world.kill(run);
    const process = this.#world.processes.get(run);
    const output = process === undefined ? null : this.#world.output(process);
    // It may have used something.
    if (process !== undefined && process.script.ending.how !== 'not-started') this.#noteStart(run);
    // Do not write known output again; a driver that crashes after every event would never get further.
    if (output !== null && output.offset > (openRun(this.state)?.output.offset ?? 0)) {
      this.append({ type: 'run.output', run, ...output });
    }
    this.#recordEnding(run, ending);
  }

  #recordEnding(run: string, ending: RunEnding): void {
    const open = openRun(this.state);
    if (open === null) throw new Error(`run ${run} ends but no run is open`);
    this.append({ type: 'run.ended', run, ending, as: classify(open, ending, this.state.policy), jitter: 0 });
  }
}

/** The key of the effect that an event is the result of; null if there is none. */
export function keyOf(event: LoopEvent): string | null {
  if (event.type === 'check.finished') return `check:${event.iteration}.${event.index + 1}`;
  // A child loop is observed; it is no result of an effect, and starts again if it is resumed.
  if (event.type === 'child.started' || event.type === 'child.ended') return null;
  if ('key' in event) return event.key;
  if ('iteration' in event) return `${KEYS[event.type]}:${event.iteration}`;
  return 'run' in event ? `run:${event.run}` : null;
}

const KEYS = {
  'iteration.started': 'iteration',
  'checks.started': 'checks',
  'claim.made': 'claim',
  'claim.accepted': 'verdict',
  'claim.rejected': 'verdict',
  'changes.found': 'changes',
  'commit.made': 'commit',
  'checkpoint.taken': 'checkpoint',
} as const;
