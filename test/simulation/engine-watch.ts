import type { Observer } from '../../src/engine/ports.ts';
import { decide } from '../../src/loop/decide.ts';
import type { Effect } from '../../src/loop/effect.ts';
import type { LoopEvent } from '../../src/loop/event.ts';
import { openRun } from '../../src/loop/run.ts';
import type { LoopState } from '../../src/loop/state.ts';
import type { Life } from '../rig/life.ts';
import type { FakeWorld } from '../rig/world.ts';
import type { Oracle } from './oracle.ts';
import { same } from './plain.ts';

/**
 * Passes one process of the engine to the oracle and checks the rules E1 to E6 (see the head of `src/engine/engine.ts`);
 * the ports check E2 and E3 (`Life.begin`, `Life.touches`). The engine does not report its calls of `decide`, so this asks
 * the core after every event.
 */
export class EngineWatch implements Observer {
  /** How to judge the next event: as a new one, a repeat of this one, or a late result. */
  judging: { readonly as: 'news' | 'late' } | { readonly as: 'repeat'; readonly of: LoopEvent } = {
    as: 'news',
  };
  readonly #oracle: Oracle;
  readonly #world: FakeWorld;
  readonly #life: Life;
  readonly #notify: (event: LoopEvent) => void;
  #before: LoopState;
  /** When the last effect began. */
  #beganAt = 0;
  /** When this process started, or last got another policy. */
  #knowsSince: number;
  /** Since when the open run is not wanted. */
  #unwantedSince: number | null = null;

  constructor(
    oracle: Oracle,
    world: FakeWorld,
    life: Life,
    before: LoopState,
    notify: (event: LoopEvent) => void,
  ) {
    this.#oracle = oracle;
    this.#world = world;
    this.#knowsSince = world.clock;
    this.#life = life;
    this.#before = before;
    this.#notify = notify;
  }

  appended(event: LoopEvent, after: LoopState): void {
    if (this.#life.isDead) return;
    const before = this.#before;
    this.#before = after;
    this.#look(() => {
      const { judging } = this;
      if (judging.as === 'late') this.#oracle.late(before, event, after);
      // The oracle recognises a repeat by identity.
      else if (judging.as === 'repeat' && same(judging.of, event))
        this.#oracle.appended(before, judging.of, after);
      else this.#oracle.appended(before, event, after);
      this.#oracle.asked(after, decide(after));
    });
    if (before.policy !== after.policy) this.#knowsSince = event.at;
    if (event.type === 'run.ended') this.#runEnded(before, event);
    if (event.type === 'timer.fired') this.#timerFired(before, event);
    const isUnwanted = openRun(after) !== null && decide(after).every(({ type }) => type !== 'run');
    this.#unwantedSince = isUnwanted ? (this.#unwantedSince ?? event.at) : null;
    this.#notify(event);
  }

  began(effect: Effect): void {
    // A machine may crash while the loop waits for hours.
    if (effect.type === 'wait' && (effect.until ?? Infinity) > this.#world.clock)
      this.#life.touches(effect.key);
    if (this.#life.isDead) return;
    this.#beganAt = this.#life.clock.now();
    this.#look(() => this.#oracle.started(effect));
    const wanted = decide(this.#before).some(({ key }) => key === effect.key);
    this.#life.must(wanted, 'E2', `${effect.key} begins but is not wanted`);
  }

  /** Only timers advance this clock, so a late timer means that the driver missed a change of its time. */
  #timerFired(before: LoopState, { key, at }: Extract<LoopEvent, { type: 'timer.fired' }>): void {
    const effect = decide(before).find((wanted) => wanted.key === key);
    const until = effect !== undefined && 'until' in effect ? (effect.until ?? Infinity) : 0;
    const late = at - Math.max(until, before.now, this.#beganAt);
    this.#life.must(late <= 0, 'L9', `${key} is over ${late} ms too late`);
  }

  /** Checks that the journal has all output and the receipt, and that the run was stopped in time. */
  #runEnded(before: LoopState, { run, ending, at }: Extract<LoopEvent, { type: 'run.ended' }>): void {
    const open = openRun(before);
    const process = this.#world.processes.get(run);
    if (open === null || process === undefined || !this.#world.everStarted(run)) return;
    const { runMs, killGraceMs } = before.policy.timeouts;
    const said = this.#world.output(process);
    this.#life.must(same(open.output, said), 'E1', `run ${run} has ended but its output is not known`);
    if (ending.how !== 'interrupted')
      this.#life.must(open.receipt !== null, 'E1', `run ${run} has ended but has no receipt`);

    const { quietAfterMs } = process.script;
    const lingersFrom =
      quietAfterMs === undefined || said.said === null ? null : process.startedAt + quietAfterMs;
    const reasons = [
      this.#unwantedSince,
      runMs === null ? null : open.plannedAt + runMs,
      lingersFrom === null ? null : lingersFrom + killGraceMs,
    ].filter((moment) => moment !== null);
    // A new owner starts its timeouts when it starts.
    const since = this.#knowsSince + (lingersFrom === null ? 0 : killGraceMs);
    const late = at - Math.max(since, Math.min(...reasons)) - killGraceMs;
    this.#life.must(late <= SLACK_MS, 'E4', `run ${run} is ended ${late} ms too late`);
  }

  /** Keeps errors of the oracle away from the driver, which would catch them. */
  #look(look: () => void): void {
    try {
      look();
    } catch (error) {
      this.#life.breaks(error);
    }
  }
}

/** Time for finding a run, looking for changed files and closing the run. */
const SLACK_MS = 20;
