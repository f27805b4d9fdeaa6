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
 * The oracle's eyes on one life of the real driver, and the rules E1 to E6 of its own (see the head of
 * `src/engine/engine.ts`); E2 and E3 are held by the ports (`Life.begin`, `Life.touches`). Every check of the oracle
 * applies. Only `asked` is told differently: the driver keeps its questions to itself, so the core is asked here,
 * after every event.
 */
export class EngineWatch implements Observer {
  /** How the next event is to be judged: as it comes, as a repeat of this one, or as an answer that comes too late. */
  judging: { readonly as: 'news' | 'late' } | { readonly as: 'repeat'; readonly of: LoopEvent } = {
    as: 'news',
  };
  readonly #oracle: Oracle;
  readonly #world: FakeWorld;
  readonly #life: Life;
  readonly #told: (event: LoopEvent) => void;
  #before: LoopState;
  /** When the last effect began. */
  #beganAt = 0;
  /** Since when this driver has known all that it goes by: itself, and the policy. */
  #knowsSince: number;
  /** Since when nobody wants the run that is open. */
  #unwantedSince: number | null = null;

  constructor(
    oracle: Oracle,
    world: FakeWorld,
    life: Life,
    before: LoopState,
    told: (event: LoopEvent) => void,
  ) {
    this.#oracle = oracle;
    this.#world = world;
    this.#knowsSince = world.clock;
    this.#life = life;
    this.#before = before;
    this.#told = told;
  }

  appended(event: LoopEvent, after: LoopState): void {
    if (this.#life.isDead) return;
    const before = this.#before;
    this.#before = after;
    this.#look(() => {
      const { judging } = this;
      if (judging.as === 'late') this.#oracle.late(before, event, after);
      // The oracle knows a repeat by its being the very same event.
      else if (judging.as === 'repeat' && same(judging.of, event))
        this.#oracle.appended(before, judging.of, after);
      else this.#oracle.appended(before, event, after);
      this.#oracle.asked(after, decide(after));
    });
    if (before.policy !== after.policy) this.#knowsSince = event.at;
    if (event.type === 'run.ended') this.#runEnded(before, event);
    if (event.type === 'timer.fired') this.#timerFired(before, event);
    const isUnwanted = openRun(after) !== null && decide(after).length === 0;
    this.#unwantedSince = isUnwanted ? (this.#unwantedSince ?? event.at) : null;
    this.#told(event);
  }

  began(effect: Effect): void {
    if (this.#life.isDead) return;
    this.#beganAt = this.#life.clock.now();
    this.#look(() => this.#oracle.started(effect));
    const wanted = decide(this.#before).some(({ key }) => key === effect.key);
    this.#life.must(wanted, 'E2', `${effect.key} begins and nobody wants it`);
  }

  /** Nothing but timers moves this clock, so whoever sleeps too long has missed that its moment moved. */
  #timerFired(before: LoopState, { key, at }: Extract<LoopEvent, { type: 'timer.fired' }>): void {
    const effect = decide(before).find((wanted) => wanted.key === key);
    const until = effect !== undefined && 'until' in effect ? effect.until : 0;
    const late = at - Math.max(until, before.now, this.#beganAt);
    this.#life.must(late <= 0, 'L9', `${key} is over ${late} ms too late`);
  }

  /** The journal knows all that the agent put out and who it was, and nobody was waited for longer than need be. */
  #runEnded(before: LoopState, { run, ending, at }: Extract<LoopEvent, { type: 'run.ended' }>): void {
    const open = openRun(before);
    const process = this.#world.processes.get(run);
    if (open === null || process === undefined || !this.#world.hasLived(run)) return;
    const { runMs, killGraceMs } = before.policy.timeouts;
    const said = this.#world.output(process);
    this.#life.must(same(open.output, said), 'E1', `run ${run} has ended and its output is not known`);
    if (ending.how !== 'interrupted')
      this.#life.must(open.receipt !== null, 'E1', `run ${run} has ended and nobody knows who it was`);

    const { quietAfterMs } = process.script;
    const lingersFrom =
      quietAfterMs === undefined || said.said === null ? null : process.startedAt + quietAfterMs;
    const reasons = [
      this.#unwantedSince,
      runMs === null ? null : open.plannedAt + runMs,
      lingersFrom === null ? null : lingersFrom + killGraceMs,
    ].filter((moment) => moment !== null);
    // A new owner begins to be patient when it comes.
    const since = this.#knowsSince + (lingersFrom === null ? 0 : killGraceMs);
    const late = at - Math.max(since, Math.min(...reasons)) - killGraceMs;
    this.#life.must(late <= SLACK, 'E4', `run ${run} is ended ${late} ms too late`);
  }

  /** An error of the oracle is not one that the driver may catch. */
  #look(look: () => void): void {
    try {
      look();
    } catch (error) {
      this.#life.breaks(error);
    }
  }
}

/** To find a run, to look for changed files, to close it. */
const SLACK = 20;
