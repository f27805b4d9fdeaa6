import type { LoopEvent } from '../../src/loop/event.ts';
import { producedWork } from '../../src/loop/run.ts';
import type { LoopState } from '../../src/loop/state.ts';
import type { FakeWorld } from '../rig/world.ts';
import { must } from './plain.ts';

/** The oracle's books about progress (L16). They know what the agents did, whatever checks and commits wrote meanwhile. */
export class ProgressBooks {
  readonly #world: FakeWorld;
  /** How often agents have changed the tree by now, with the check results, after each iteration. */
  readonly #seen = new Set<string>();
  #changes = 0;
  #unchanged = 0;
  /** Changes while agents wrote commit messages, which is no work. */
  #aside = 0;
  #beforeMessage = 0;
  /** Without a limit the driver does not look, so a later limit does not know what happened before. */
  #isKnown = true;
  /** A check between the look and the run hides that the run changes nothing. */
  #isExact = true;

  constructor(world: FakeWorld) {
    this.#world = world;
  }

  book(before: LoopState, event: LoopEvent, after: LoopState): void {
    if (event.type === 'policy.changed' || after.policy.limits.unchanged === null) this.#isKnown = false;
    if (!this.#isKnown) return;
    this.#follow(before, event);
    const isStuck = event.type === 'loop.ended' && event.outcome.type === 'stuck';
    if (isStuck || (after.turn.iteration > before.turn.iteration && before.outcome?.type !== 'stuck'))
      this.#close(before);
    if (event.type === 'loop.reopened' && event.because === undefined) this.#unchanged = 0;
    this.#compare(isStuck ? event.outcome.unchanged : after.progress.unchanged);
  }

  #follow({ turn }: LoopState, event: LoopEvent): void {
    const { tree } = this.#world;
    if (event.type === 'checks.started' && event.run === null) this.#isExact = false;
    if (event.type === 'run.planned' && event.purpose === 'commit-message') this.#beforeMessage = tree;
    if (event.type === 'run.ended' && event.run === turn.messageRun?.id)
      this.#aside += tree - this.#beforeMessage;
    if (event.type !== 'probe.finished') return;
    this.#changes = tree - this.#aside;
    if (event.phase === 'before' && this.#seen.size === 0) this.#seen.add(`${this.#changes}:`);
  }

  #close({ turn }: LoopState): void {
    if (!producedWork(turn.run?.ended?.as)) return;
    const results = turn.checks.map((result) => (result?.code === 0 ? '+' : '-')).join('');
    const made = `${this.#changes}:${results}`;
    const isFirst = this.#seen.delete(`${this.#changes}:`);
    this.#unchanged = isFirst || this.#seen.has(made) ? this.#unchanged + 1 : 0;
    this.#seen.add(made);
  }

  #compare(unchanged: number): void {
    const holds = this.#isExact ? unchanged === this.#unchanged : unchanged <= this.#unchanged;
    must(holds, 'L16', `${unchanged} iterations without progress, not ${this.#unchanged}`);
  }
}
