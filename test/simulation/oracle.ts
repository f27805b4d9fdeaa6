import { decide } from '../../src/loop/decide.ts';
import type { Effect } from '../../src/loop/effect.ts';
import type { LoopEvent, OutputSnapshot } from '../../src/loop/event.ts';
import { evolve, fold, INITIAL } from '../../src/loop/evolve.ts';
import { producedWork, isCutShort, openRun } from '../../src/loop/run.ts';
import type { LoopState } from '../../src/loop/state.ts';
import type { Observer } from '../rig/toy-driver.ts';
import type { FakeWorld } from '../rig/world.ts';
import { backoff, changesIn, isReached, LONGEST_WAIT, must, readBack, same, spentIn } from './plain.ts';

/**
 * Watches a history and holds it against the invariants. It keeps books of its own, from the events and the
 * world, and believes nothing that the state says about itself where it can know better.
 */
export class Oracle implements Observer {
  readonly #world: FakeWorld;
  readonly #planned = new Set<string>();
  readonly #ended = new Set<string>();
  readonly #lastOutput = new Map<string, OutputSnapshot>();
  readonly #seen = new Set<string>();
  /** The fold of the journal, event by event. */
  #shadow: LoopState = INITIAL;
  #live: LoopState | null = null;
  #lastEvent: LoopEvent | null = null;
  #open: string | null = null;
  #iterations = 0;
  #failures = { consecutive: 0, total: 0 };
  #rung = 0;
  #outages = 0;
  #paused = false;
  #stopped = false;
  #aborted = false;
  #lastCheck: string | null = null;
  #signals = 0;
  /** The next run may not be planned before this. */
  #notBefore = 0;
  /** When the wait after the last run was to end, before anybody interfered. */
  #expected = 0;
  #unfinishedIteration: number | null = null;
  /** Since the last work run ended, or since the look before a run. */
  #checks = new Map<number, boolean>();
  #markerSeen = false;
  #committed = false;
  #changes: ReturnType<typeof changesIn> = null;
  #checkpointed = false;
  /** The last run did its turn, and the next iteration is not on. */
  #unchecked = false;
  #accepted = false;
  #acceptedAt = 0;
  #asked = 0;

  constructor(world: FakeWorld) {
    this.#world = world;
  }

  asked(state: LoopState, wanted: readonly Effect[]): void {
    const open = openRun(state);
    if (state.outcome !== null) must(wanted.length === 0, 'L2', 'something is wanted after the end');
    else if (open !== null)
      must(
        wanted.every(({ key }) => key === `run:${open.id}`),
        'L4',
        `something is wanted beside run ${open.id}`,
      );
    else if (state.created) must(wanted.length > 0, 'L10', 'nothing is wanted and nothing goes on');
    if (this.#asked++ % 8 === 0)
      must(same(decide(state), wanted), 'L11', 'asking again wants something else');
  }

  started(effect: Effect): void {
    if (effect.type === 'wait') {
      const ahead = effect.until - Math.max(this.#world.clock, this.#expected);
      must(ahead <= LONGEST_WAIT, 'L9', `a wait of ${ahead} ms is too long`);
    }
    if (effect.type === 'run')
      must(!this.#stopped || this.#planned.has(effect.run), 'L8', 'a run starts after a stop');
    if (effect.type === 'check' && this.#stopped) {
      // The one that was under way may finish, and is run again if the harness dies over it.
      this.#lastCheck ??= effect.key;
      must(this.#lastCheck === effect.key, 'L8', 'a second check starts after a stop');
    }
  }

  appended(before: LoopState, event: LoopEvent, after: LoopState): void {
    this.#follow(before, event, after);
    const repeated = this.#lastEvent === event;
    this.#lastEvent = event;
    if (repeated) {
      must(same(before, after), 'L6', `${event.type} counts twice`);
      return;
    }
    if (before.outcome !== null && event.type !== 'loop.reopened') {
      must(before === after, 'L2', `${event.type} is accepted after the end`);
      return;
    }
    this.#book(before, event, after);
  }

  late(before: LoopState, event: LoopEvent, after: LoopState): void {
    this.#follow(before, event, after);
    const { now, activeMs } = after;
    must(same({ ...before, now, activeMs }, after), 'L6', `a late ${event.type} counts`);
  }

  #follow(before: LoopState, event: LoopEvent, after: LoopState): void {
    must(
      before === this.#live || same(before, this.#shadow),
      'L5',
      'what a new owner folded is not what the old one had',
    );
    this.#live = after;
    // The policy is big and is compared at the end; everything else goes through text, as in a journal.
    this.#shadow = evolve(this.#shadow, 'policy' in event ? event : readBack(event));
    must(same(after, this.#shadow), 'L5', `the fold differs after ${event.type}`);
  }

  #book(before: LoopState, event: LoopEvent, after: LoopState): void {
    const { limits } = before.policy;
    switch (event.type) {
      case 'iteration.started':
        must(
          event.iteration === ++this.#iterations,
          'L1',
          `iteration ${event.iteration} follows ${this.#iterations - 1}`,
        );
        must(
          limits.iterations === null || event.iteration <= limits.iterations,
          'L1',
          `iteration ${event.iteration} of ${limits.iterations}`,
        );
        must(!this.#paused && !this.#stopped, 'L8', 'an iteration starts after a pause or a stop');
        return;
      case 'run.planned':
        return this.#runPlanned(before, event);
      case 'run.output':
        if (this.#open === event.run) this.#lastOutput.set(event.run, event);
        return;
      case 'run.ended':
        return this.#runEnded(before, event, after);
      case 'probe.finished':
        this.#markerSeen = event.markers.includes('DONE');
        if (this.#markerSeen) must(this.#world.doneFile, 'L3', 'a marker that is not there');
        if (event.phase === 'before') this.#evidenceGone();
        return;
      case 'checks.started':
        must(!this.#stopped, 'L8', 'checks start after a stop');
        return;
      case 'check.finished':
        if (event.iteration > 0) this.#checks.set(event.index, event.result.code === 0);
        else must(this.#iterations === 0 && event.index === before.baseline.length, 'L6', 'not the baseline');
        return;
      case 'claim.made':
        if (event.claim.by === 'promise-tag') {
          const said = event.run === null ? null : this.#lastOutput.get(event.run)?.claim;
          must(said !== null && said !== undefined, 'L3', 'a claim that nobody made');
        }
        if (event.claim.by === 'marker') must(this.#markerSeen, 'L3', 'a marker that was not there');
        return;
      case 'claim.accepted':
        this.#accepted = true;
        this.#acceptedAt = event.at;
        return;
      case 'control.received':
        return this.#control(before, event);
      case 'loop.ended':
        return this.#loopEnded(before, event);
      case 'loop.reopened':
        this.#paused = false;
        this.#stopped = false;
        this.#aborted = false;
        this.#lastCheck = null;
        this.#signals = 0;
        this.#notBefore = 0;
        this.#rung = 0;
        this.#outages = 0;
        this.#failures.consecutive = 0;
        this.#unchecked = false;
        return;
      case 'limit.shared':
        must(before.turn.run === null, 'L4', 'a limit is heeded in the middle of a run');
        this.#expected = this.#notBefore = event.resetsAt;
        return;
      case 'timer.fired': {
        const closes = after.turn.iteration > before.turn.iteration;
        const checked = this.#checks.size === before.policy.checks.commands.length;
        if (closes) must(!this.#unchecked || checked, 'L3', 'a turn is closed and its run was not checked');
        if (closes) this.#turnCloses(before);
        return;
      }
      case 'claim.rejected':
        must([...this.#checks.values()].includes(false), 'L3', 'a claim is rejected without a red check');
        if (before.turn.claim?.by === 'marker')
          must(!this.#world.doneFile, 'L3', 'a rejected marker lies on');
        return;
      case 'policy.changed':
        // Another policy may know other delays.
        this.#notBefore = 0;
        if (after.turn.claim === null && !after.turn.checksStarted) this.#evidenceGone();
        return;
      case 'commit.made':
        must(this.#green(before), 'L13', 'red work is committed');
        must(event.done.length === 0 || this.#changes !== null, 'L13', 'what cannot be is committed');
        this.#committed = true;
        this.#changes = null;
        return;
      case 'changes.found':
        this.#changes = changesIn(event);
        return;
      case 'checkpoint.taken':
        this.#checkpointed = true;
        return;
      case 'loop.created':
      case 'run.started':
      case 'child.started':
      case 'child.ended':
        return;
      case 'owner.changed':
        this.#signals = 0;
        return;
    }
  }

  #runPlanned({ policy: { limits } }: LoopState, event: Extract<LoopEvent, { type: 'run.planned' }>): void {
    must(this.#open === null, 'L4', `run ${event.run} is planned beside ${this.#open}`);
    must(!this.#planned.has(event.run), 'L4', `run ${event.run} is planned twice`);
    this.#planned.add(event.run);
    this.#open = event.run;
    must(!this.#stopped, 'L8', 'a run is planned after a stop');
    const { usd, tokens } = this.#spent();
    must(
      limits.costUsd === null || usd < limits.costUsd,
      'L7',
      `a run is planned with $${usd} of $${limits.costUsd} spent`,
    );
    must(
      limits.tokens === null || tokens < limits.tokens,
      'L7',
      `a run is planned with ${tokens} of ${limits.tokens} tokens spent`,
    );
    if (event.purpose !== 'work') {
      must(this.#changes === 'some', 'L13', 'a message is asked for where nothing can be committed');
      return;
    }
    must(!this.#paused, 'L8', 'a run is planned during a pause');
    must(event.at >= this.#notBefore, 'L9', `a run is planned ${this.#notBefore - event.at} ms too early`);
    const iteration = Number(event.run.split('.')[0]);
    must(iteration === this.#iterations, 'L1', `run ${event.run} is not of iteration ${this.#iterations}`);
    must(
      this.#unfinishedIteration === null || iteration === this.#unfinishedIteration,
      'L12',
      'what was cut short is charged as an iteration',
    );
    this.#evidenceGone();
  }

  #runEnded(before: LoopState, event: Extract<LoopEvent, { type: 'run.ended' }>, after: LoopState): void {
    must(this.#open === event.run, 'L4', `run ${event.run} ends and ${this.#open} is open`);
    must(!this.#ended.has(event.run), 'L4', `run ${event.run} ends twice`);
    must(!this.#world.alive().includes(event.run), 'L4', `run ${event.run} has ended and lives`);
    this.#ended.add(event.run);
    this.#open = null;
    const run = after.turn.run;
    if (run?.id !== event.run) return;
    this.#evidenceGone();

    const as = run.ended?.as;
    const output = this.#lastOutput.get(event.run);
    const cameToItsEnd =
      event.ending.how === 'exited'
        ? event.ending.code !== 42
        : event.ending.how === 'timed-out' && event.ending.which !== 'total';
    if (output?.limit && output.said !== 'success' && cameToItsEnd)
      must(as === 'usage-limit', 'L12', `a limit is taken for ${as}`);
    this.#unchecked = producedWork(as);
    const { delay } = before.policy;
    if (as === 'failure') {
      this.#failures = { consecutive: this.#failures.consecutive + 1, total: this.#failures.total + 1 };
      this.#notBefore = event.at + backoff(delay, this.#failures.consecutive);
    } else if (as === 'outage') {
      this.#notBefore = event.at + backoff(delay, this.#outages + 1);
    } else if (as === 'ok') {
      this.#failures.consecutive = 0;
      this.#notBefore = event.at + delay.afterOkMs;
    }
    must(same(after.failures, this.#failures), !isCutShort(as) ? 'L6' : 'L12', 'failures are miscounted');

    this.#expected = this.#notBefore;
    if (this.#paused) this.#notBefore = 0;
    this.#unfinishedIteration = isCutShort(as) ? this.#iterations : null;
    this.#outages = as === 'outage' ? this.#outages + 1 : 0;
    if (as !== 'usage-limit') {
      this.#rung = 0;
      return;
    }
    const resetsAt = this.#lastOutput.get(event.run)?.limit?.resetsAt ?? null;
    const ladder = delay.usageLimitLadderMs;
    const climb = (rung: number): number => ladder[Math.min(rung, ladder.length - 1)] ?? 0;
    const stated = resetsAt !== null && resetsAt > event.at;
    const patience = this.#rung === 0 ? 0 : climb(this.#rung - 1);
    this.#notBefore = event.at + (stated ? Math.max(resetsAt - event.at, patience) : climb(this.#rung));
    this.#rung++;
    this.#expected = this.#notBefore;
  }

  #control(
    { policy, turn }: LoopState,
    { id, control }: Extract<LoopEvent, { type: 'control.received' }>,
  ): void {
    if (this.#seen.has(id)) return;
    this.#seen.add(id);
    const limited = turn.run?.ended?.as === 'usage-limit' || turn.sharedLimit !== null;
    const pause = (): void => {
      this.#paused = true;
      if (!limited) this.#notBefore = 0;
    };
    if (control.type === 'pause') pause();
    if (control.type === 'resume') {
      this.#paused = false;
      this.#signals = 0;
      if (control.now) this.#notBefore = 0;
    }
    this.#aborted ||= control.type === 'abort';
    if (control.type === 'stop' || this.#aborted) this.#stopped = true;
    if (control.type !== 'signal') return;
    this.#signals++;
    if (this.#signals === 1 && policy.signals[control.signal] === 'pause') pause();
    else this.#stopped = true;
  }

  /** What belongs to a turn has happened when it is closed. */
  #turnCloses(before: LoopState): void {
    const { policy } = before;
    if (policy.checkpoint) must(this.#checkpointed, 'L10', 'a turn is closed without its checkpoint');
    if (policy.commit !== null && this.#unchecked && this.#green(before))
      must(this.#committed, 'L13', 'green work is not committed');
    this.#committed = false;
    this.#checkpointed = false;
  }

  #green({ policy }: LoopState): boolean {
    return policy.checks.commands.every((_, index) => this.#checks.get(index) === true);
  }

  #loopEnded(before: LoopState, { outcome, at }: Extract<LoopEvent, { type: 'loop.ended' }>): void {
    const { policy, turn } = before;
    const { commands } = policy.checks;
    must(
      this.#open === null && this.#planned.size === this.#ended.size,
      'L4',
      'the loop ends and a run is open',
    );
    must(this.#world.alive().length === 0, 'L4', 'the loop ends and an agent lives');
    if (this.#stopped)
      must(outcome.type === (this.#aborted ? 'fatal' : 'stopped'), 'L8', `a stop ends as ${outcome.type}`);
    else must(outcome.type !== 'stopped', 'L8', 'stopped by nobody');
    const [iterations, failures, ms] = [this.#iterations, this.#failures.consecutive, before.activeMs];
    const books = { ...this.#spent(), iterations, failures, ms };
    must(isReached(outcome, policy.limits, books), 'L1', `${outcome.type} before it is`);
    if (outcome.type !== 'done') return;
    must(
      outcome.verified === (commands.length > 0 && this.#green(before)),
      'L3',
      'verified is not what the checks say',
    );
    must(this.#accepted, 'L3', 'done without an accepted claim');
    const patience = this.#acceptedAt + (policy.children?.waitMs ?? 0);
    must(outcome.childrenLeft.length === 0 || at >= patience, 'L9', 'children are not waited for');
    const green = this.#green(before);
    if (policy.completion.until !== 'claim')
      must(green, 'L3', 'done without green checks after the last run');
    if (outcome.verified) must(green && commands.length > 0, 'L3', 'verified by nothing');
    must(turn.claim !== null, 'L3', 'done without a claim');
  }

  /** The last word on the books. */
  close(state: LoopState, journal: readonly LoopEvent[]): void {
    // Event by event everything but the policy was compared; a whole journal now and then is enough for that.
    if (journal.length % 8 === 0)
      must(same(fold(readBack(journal)), state), 'L5', 'the fold of the journal is not the live state');
    const closed = [...this.#ended].reduce(
      (sum, run) => sum + (this.#lastOutput.get(run)?.cost?.usd ?? 0),
      0,
    );
    must(
      Math.abs(state.spent.usd - closed) < 1e-9,
      'L6',
      `$${state.spent.usd} on the books, $${closed} spent`,
    );
    must(state.iteration === this.#iterations, 'L6', 'iterations are miscounted');
  }

  #evidenceGone(): void {
    this.#checks = new Map();
    this.#accepted = false;
  }

  #spent(): { usd: number; tokens: number } {
    return spentIn(this.#lastOutput.values());
  }
}
