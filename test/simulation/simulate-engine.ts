import { Engine, type EngineStop } from '../../src/engine/engine.ts';
import { decide } from '../../src/loop/decide.ts';
import type { Happening, LoopEvent } from '../../src/loop/event.ts';
import { fold } from '../../src/loop/evolve.ts';
import { learn, NOTHING_KNOWN } from '../../src/loop/report.ts';
import { openRun } from '../../src/loop/run.ts';
import type { LoopState, Run } from '../../src/loop/state.ts';
import { fakeHost } from '../rig/fake-host.ts';
import { fakeWorkspace, type WorkspaceFolder } from '../rig/fake-workspace.ts';
import { Life, type Pages } from '../rig/life.ts';
import { mortalJournal } from '../rig/mortal-journal.ts';
import { keyOf, type Interference } from '../rig/toy-driver.ts';
import { received } from '../rig/play.ts';
import { FakeWorld } from '../rig/world.ts';
import type { EngineScenario } from './engine-scenario.ts';
import { EngineWatch } from './engine-watch.ts';
import { Oracle } from './oracle.ts';
import { must, same } from './plain.ts';
import { interferenceOf, nudge, startOf } from './simulate.ts';
import { reopening } from './reopening.ts';

/** Plays one history with the engine, including crashes, and checks it with the oracle. */
export async function simulateEngine(scenario: EngineScenario): Promise<EngineHistory> {
  const simulation = new Simulation(scenario);
  try {
    return await simulation.live();
  } catch (cause) {
    const what = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`${what}\n${simulation.lastEvents(40)}`, { cause });
  }
}

export interface EngineHistory {
  readonly journal: readonly LoopEvent[];
  readonly state: LoopState;
  /** Crashes, and processes that stopped because the journal could not be written. */
  readonly restarts: number;
  readonly lost: number;
  /** How often an owner left, and in how many of these an agent was running. */
  readonly left: number;
  /** How often time had to pass. */
  readonly pauses: number;
  readonly leftRunning: number;
}

/**
 * Interference happens when the engine yields the thread: in a microtask after an event, or at a time of the clock. What a
 * crash prevents is delivered to the next process, as from an inbox.
 */
class Simulation {
  readonly #scenario: EngineScenario;
  readonly #world: FakeWorld;
  readonly #oracle: Oracle;
  readonly #interference: Interference;
  readonly #pages: Pages = { events: [], synced: 0 };
  readonly #workspaceFolder: WorkspaceFolder;
  readonly #inbox: Happening[] = [];
  #diskFull: 'not yet' | 'now' | 'over' = 'not yet';
  #effects = 0;
  #trouble: 'none' | 'made' | 'told' = 'none';
  #restarts = 0;
  #lost = 0;
  #left = 0;
  #pauses = 0;
  #leftRunning = 0;
  /** Whether the engine follows what is wanted. */
  #isDriving = false;
  /** The run that must continue when the owner leaves; null when none runs or the owner has begun to end it. */
  #leftRun: string | null = null;

  constructor(scenario: EngineScenario) {
    const { runs, checks, changes, stubborn, litters, promptLostAt, limitedForMs } = scenario;
    this.#scenario = scenario;
    this.#world = new FakeWorld({ runs, checks, changes, stubborn, litters }, START);
    this.#oracle = new Oracle(this.#world);
    this.#interference = interferenceOf(scenario, this.#world);
    const limit = limitedForMs === null ? null : { resetsAt: START + limitedForMs, message: 'theirs' };
    this.#workspaceFolder = { children: new Map(), edited: null, limit, promptLostAt };
  }

  /** For the error message. */
  lastEvents(count: number): string {
    const lines = this.#pages.events.map((event, index) => {
      const { at, type, ...more } = event;
      const rest = 'policy' in more ? '' : JSON.stringify(more);
      return `${index + 1} at ${at - START}: ${type} ${rest}`;
    });
    return lines.slice(-count).join('\n');
  }

  async live(): Promise<EngineHistory> {
    let { reopens } = this.#scenario;
    let request: Happening | null = null;
    for (let lives = 0; lives < 400; lives++) {
      // oxlint-disable-next-line no-await-in-loop -- one process after the other
      const end = await this.#runProcess(request);
      request = null;
      if (end.why === 'died' || end.why === 'lost' || end.why === 'left') {
        if (end.why === 'died') this.#restarts++;
        else if (end.why === 'lost') this.#lost++;
        else this.#left++;
        this.#world.advanceTo(this.#world.clock + this.#scenario.downtimeMs);
      } else if (end.why === 'paused') request = this.#nextRequest(lives);
      else if (reopens-- > 0) request = reopening(fold(this.#pages.events), reopens);
      else {
        const { events } = this.#pages;
        const state = fold(events);
        this.#oracle.close(state, events);
        const counts = { restarts: this.#restarts, lost: this.#lost, left: this.#left, pauses: this.#pauses };
        return { journal: events, state, ...counts, leftRunning: this.#leftRunning };
      }
    }
    throw new Error('L10: the history has no end');
  }

  /** A resting loop has no process; the next control starts one. */
  #nextRequest(life: number): Happening {
    const due = this.#interference.scheduled?.shift();
    if (due === undefined) return received(`resume-${life}`, { type: 'resume', now: false });
    this.#world.advanceTo(due.at);
    return due.happening;
  }

  async #runProcess(request: Happening | null): Promise<EngineStop | { readonly why: 'died' }> {
    const life = new Life(this.#world, this.#pages, () => this.#causesError());
    const { events } = this.#pages;
    let known = NOTHING_KNOWN;
    for (const event of events) known = learn(known, event);
    const watch = new EngineWatch(this.#oracle, this.#world, life, known.state, (event) =>
      this.#interfere(event, engine, life, watch),
    );
    const engine = new Engine(
      {
        journal: mortalJournal(this.#pages, life, {
          crashesBefore: (index) => this.#interference.crashesBefore?.(index) === true,
          isDiskFull: (index) => this.#isDiskFull(index),
        }),
        clock: life.clock,
        host: fakeHost(this.#world, life, (key) => decide(engine.state).some((wanted) => wanted.key === key)),
        workspace: fakeWorkspace(this.#world, life, this.#workspaceFolder),
        observers: [watch],
        chance: () => 0.5,
      },
      known,
    );
    const { policy } = this.#scenario;
    if (request?.type === 'loop.reopened') engine.append(request);
    if (events.length === 0) engine.append({ type: 'loop.created', name: 'simulated', policy });
    else engine.append({ type: 'owner.changed', owner: `owner-${events.length}` });
    if (this.#scenario.isWatched) engine.append(startOf(this.#scenario));
    if (request !== null && request.type !== 'loop.reopened') this.#inbox.unshift(request);
    this.#deliver(engine, life);
    this.#isDriving = true;
    noteUnwanted(engine, life);
    const end = await this.#run(engine, life);
    this.#isDriving = false;
    if (this.#diskFull === 'now') this.#diskFull = 'over';
    this.#trouble = 'none';
    return end;
  }

  /** Runs the engine until it stops or crashes; time passes only while it has nothing to do but wait. */
  async #run(engine: Engine, life: Life): Promise<EngineStop | { readonly why: 'died' }> {
    let stop: EngineStop | null = null;
    const settle = async (): Promise<void> => {
      try {
        stop = await engine.run();
      } catch (error) {
        // Errors after a crash do not matter.
        if (!life.isDead) life.breaks(error);
      }
    };
    void settle();
    for (let step = 0; step < 2000; step++) {
      // oxlint-disable-next-line no-await-in-loop -- every microtask runs before time passes
      await new Promise(setImmediate);
      if (life.broken !== null) throw life.broken.error;
      if (life.isDead) return { why: 'died' };
      must(this.#trouble !== 'made' || this.#diskFull === 'now', 'E5', 'an unexpected error is not reported');
      if (stop !== null) return this.#stopped(stop, engine, life);
      this.#goOn(engine, life);
    }
    throw new Error('L10: the loop neither ends nor waits');
  }

  #goOn(engine: Engine, life: Life): void {
    if (this.#scenario.leavesDuring.includes(++this.#pauses)) return this.#leave(engine, life);
    const { next } = life.clock;
    const [wanted] = decide(engine.state);
    const isIdle = life.inFlight.length === 0 && this.#diskFull !== 'now';
    if (isIdle && wanted !== undefined)
      must(
        'until' in wanted,
        'E2',
        `${wanted.key} is wanted and nothing is in flight, but it does not begin`,
      );
    const due = this.#interference.scheduled?.[0];
    if (due !== undefined && (next === null || due.at < next)) {
      this.#interference.scheduled?.shift();
      this.#world.advanceTo(due.at);
      this.#inbox.push(due.happening);
      this.#deliver(engine, life);
      return;
    }
    if (next === null && wanted?.type === 'wait' && wanted.why === 'answer') {
      this.#inbox.push(received(`answer-${this.#pauses}`, nudge(engine.state)));
      return this.#deliver(engine, life);
    }
    must(next !== null, 'L10', 'the driver waits without a timer');
    life.clock.jump();
  }

  #stopped(stop: EngineStop, { state }: Engine, life: Life): EngineStop {
    const { events, synced } = this.#pages;
    must(life.inFlight.length === 0, 'E6', `the driver stops while in flight: ${life.inFlight.join(', ')}`);
    must(life.clock.next === null, 'E6', 'the driver stops and leaves a timer');
    // A driver that could not write `owner.changed` is not responsible for a running agent.
    if (stop.why !== 'lost' && stop.why !== 'left')
      must(this.#world.alive().length === 0, 'E6', 'the driver stops while an agent runs');
    if (stop.why === 'ended') must(synced === events.length, 'E3', 'the end is not synced');
    if (stop.why === 'left') {
      must(life.isLeaving && synced === events.length, 'E7', 'the driver is left with unsynced events');
      const run = this.#leftRun === null ? undefined : this.#world.processes.get(this.#leftRun);
      must(
        run === undefined || run.killedAt === null,
        'E7',
        `run ${run?.run} was ended by an owner that left`,
      );
      if (run !== undefined) this.#leftRunning++;
    }
    if (stop.why === 'paused')
      must(
        decide(state).some(({ type }) => type === 'rest'),
        'E4',
        'the driver pauses while the loop does not rest',
      );
    must((stop.why === 'lost') === (this.#diskFull === 'now'), 'E5', `the driver stops as ${stop.why}`);
    life.die();
    return stop;
  }

  #causesError(): boolean {
    if (++this.#effects !== this.#scenario.troubleAt) return false;
    this.#trouble = 'made';
    return true;
  }

  #isDiskFull(index: number): boolean {
    const { diskFullAfter } = this.#scenario;
    if (this.#diskFull === 'not yet' && diskFullAfter !== null && index > diskFullAfter)
      this.#diskFull = 'now';
    return this.#diskFull === 'now';
  }

  /** Applies the scenario's interference after an event, by its number. */
  #interfere(event: LoopEvent, engine: Engine, life: Life, watch: EngineWatch): void {
    const index = this.#pages.events.length;
    const interference = this.#interference;
    const isTrouble = event.type === 'control.received' && event.control.type === 'abort';
    if (isTrouble) {
      life.must(
        this.#trouble === 'made',
        'E5',
        `an abort without an error: ${JSON.stringify(event.control)}`,
      );
      this.#trouble = 'told';
    }
    this.#checkWorkspaceFolder(event, engine, life);
    if (this.#isDriving) noteUnwanted(engine, life);
    this.#inbox.push(...(interference.events?.(index) ?? []));
    const late = this.#pages.events[(interference.lateAnswer?.(index) ?? 0) - 1];
    const isRepeated = interference.repeats?.(index) === true;
    const isStale = interference.staleTimer?.(index) === true;
    if (event.type !== 'owner.changed' && interference.crashesAfter?.(index) === true) life.die();
    const isLeft = this.#scenario.leavesAfter.includes(index);
    if (!isRepeated && !isStale && !isLeft && late === undefined && this.#inbox.length === 0) return;
    queueMicrotask(() => {
      if (life.isDead) return;
      if (isRepeated) this.#repeat(event, engine, watch);
      if (isStale) engine.write({ type: 'timer.fired', key: `wait:${engine.state.turn.run?.id ?? '0.0'}` });
      if (late !== undefined) this.#answerLate(late, engine, watch);
      if (isLeft) this.#leave(engine, life);
      this.#deliver(engine, life);
    });
  }

  #leave(engine: Engine, life: Life): void {
    const open = openRun(engine.state);
    const goesOn =
      open !== null &&
      this.#world.alive().includes(open.id) &&
      !life.isStopping(open.id) &&
      isWanted(open, engine.state);
    this.#leftRun = goesOn ? open.id : null;
    life.leave();
    engine.leave();
  }

  /** Checks that the engine has picked up edits and child loops in time. */
  #checkWorkspaceFolder(event: LoopEvent, { state }: Engine, life: Life): void {
    const { edited, children } = this.#workspaceFolder;
    if (event.type === 'iteration.started')
      life.must(edited === null, 'E1', 'an iteration starts before an edited policy is applied');
    if (event.type !== 'run.ended' || !this.#world.everStarted(event.run)) return;
    const living = [...children].filter(([, endsAt]) => endsAt > this.#world.clock).map(([child]) => child);
    life.must(
      same(living.toSorted(), state.children.toSorted()),
      'E1',
      'a run has ended but its child loops are not known',
    );
  }

  #repeat(event: LoopEvent, engine: Engine, watch: EngineWatch): void {
    // After another event it is no repeat but a late result.
    if (this.#pages.events.at(-1) !== event) return this.#answerLate(event, engine, watch);
    watch.judging = { as: 'repeat', of: event };
    engine.append(event);
    watch.judging = { as: 'news' };
  }

  #answerLate(event: LoopEvent, engine: Engine, watch: EngineWatch): void {
    const key = keyOf(event);
    // If the same effect is wanted again, an old result is as good as a new one.
    if (key === null || decide(engine.state).some((effect) => effect.key === key)) return;
    watch.judging = { as: 'late' };
    engine.append(event);
    watch.judging = { as: 'news' };
  }

  #deliver(engine: Engine, life: Life): void {
    for (;;) {
      const next = this.#inbox[0];
      if (next === undefined || life.isDead) return;
      const length = this.#pages.events.length;
      const isHeard = this.#hand(next, engine, life);
      // If it was not written because of a crash or a full disk, the next process gets it.
      if (!isHeard || (life.isDead && this.#pages.events.length === length)) return;
      this.#inbox.shift();
    }
  }

  #hand(happening: Happening, engine: Engine, life: Life): boolean {
    const { change } = this.#scenario;
    if (happening.type === 'control.received') {
      const heard = engine.receive(happening.id, happening.control);
      if (heard === 'taken') life.touches('the answer to a control');
      return heard !== 'later' || engine.state.outcome !== null;
    }
    // The engine finds child loops at the end of a run, and edited policies before the next iteration.
    if (happening.type === 'child.started' || happening.type === 'child.ended')
      this.#changeChild(happening, engine);
    else if (happening.type === 'policy.changed' && change?.policy === 'other checks')
      this.#workspaceFolder.edited = happening.policy;
    else engine.write(happening);
    return true;
  }

  /** A child loop starts or ends; the owner sees it at once, or the engine finds it at the end of a run. */
  #changeChild(happening: ChildEvent, engine: Engine): void {
    const { child, type } = happening;
    const { ends, isSeen } = this.#scenario.children[Number(child.slice('kid-'.length))] ?? NO_CHILD;
    if (type === 'child.ended') this.#workspaceFolder.children.delete(child);
    else this.#workspaceFolder.children.set(child, this.#world.clock + lifetime(ends));
    if (isSeen) engine.write(happening);
  }
}

type ChildEvent = Extract<Happening, { type: 'child.started' | 'child.ended' }>;
const NO_CHILD = { ends: 0, isSeen: false };

/** The engine interrupts an unwanted run at once, and ends it even if it is wanted again before it was found. */
function noteUnwanted({ state }: Engine, life: Life): void {
  const open = openRun(state);
  if (open !== null && !isWanted(open, state)) life.stops(open.id);
}

function isWanted({ id }: Run, state: LoopState): boolean {
  return decide(state).some(({ key }) => key === `run:${id}`);
}

/** Some child loops end while the loop waits for them, others never do. */
function lifetime(ends: number): number {
  return ends > 35 ? Number.POSITIVE_INFINITY : ends * 1000;
}

const START = 1_000_000;
