import { decide } from '../../src/loop/decide.ts';
import type { Effect } from '../../src/loop/effect.ts';
import type { LoopEvent, OutputSnapshot } from '../../src/loop/event.ts';
import { evolve, fold } from '../../src/loop/evolve.ts';
import { isCutShort, openRun, producedWork } from '../../src/loop/run.ts';
import type { LoopState } from '../../src/loop/state.ts';
import type { Observer } from '../rig/toy-driver.ts';
import type { FakeWorld } from '../rig/world.ts';
import { ChildBooks } from './child-books.ts';
import { ClaimBooks } from './claim-books.ts';
import { backoff, changesIn, isReached, MAX_WAIT_MS, must, outageDelay, readBack, same } from './plain.ts';
import { ProgressBooks } from './progress-books.ts';
import { isBeside, NoticeBooks } from './notice-books.ts';
import { QuestionBooks } from './question-books.ts';
import { SpendBooks } from './spend-books.ts';

/**
 * Checks a history against the invariants. It keeps its own books from the events and the world, and does not rely on the
 * state where it can know better.
 */
export class Oracle implements Observer {
  readonly #world: FakeWorld;
  readonly #planned = new Set<string>();
  readonly #ended = new Set<string>();
  readonly #lastOutput = new Map<string, OutputSnapshot>();
  readonly #seen = new Set<string>();
  readonly #spending = new SpendBooks();
  /** The fold of the journal, event by event. */
  #shadow: LoopState = fold([]);
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
  readonly #children = new ChildBooks();
  /** The earliest time for the next run. */
  #notBefore = 0;
  /** The planned end of the wait after the last run, before any interference. */
  #expected = 0;
  #unfinishedIteration: number | null = null;
  readonly #claims: ClaimBooks;
  #committed = false;
  #changes: ReturnType<typeof changesIn> = null;
  #checkpointed = false;
  /** The last run produced work, and the next iteration has not started. */
  #unchecked = false;
  readonly #questions = new QuestionBooks();
  readonly #progress: ProgressBooks;
  readonly #notices = new NoticeBooks();
  #asked = 0;

  constructor(world: FakeWorld) {
    this.#world = world;
    this.#claims = new ClaimBooks(world);
    this.#progress = new ProgressBooks(world);
  }

  asked(state: LoopState, wanted: readonly Effect[]): void {
    const open = openRun(state);
    if (state.outcome !== null) must(wanted.length === 0, 'L2', 'an effect is wanted after the end');
    else if (open !== null)
      must(
        wanted.every((effect) => effect.key === `run:${open.id}` || isBeside(effect)),
        'L4',
        `another effect is wanted while run ${open.id} is open`,
      );
    else if (state.created) must(!wanted.every(isBeside), 'L10', 'no effect is wanted and none is in flight');
    if (this.#asked++ % 8 === 0)
      must(same(decide(state), wanted), 'L11', 'the same state gives other effects');
  }

  started(effect: Effect): void {
    this.#spending.mayWait(effect, this.#live?.policy.limits.limitWaits ?? null);
    if (effect.type === 'wait' && effect.until !== null) {
      const ahead = effect.until - Math.max(this.#world.clock, this.#expected);
      must(ahead <= MAX_WAIT_MS, 'L9', `a wait of ${ahead} ms is too long`);
    }
    if (effect.type === 'run')
      must(!this.#stopped || this.#planned.has(effect.run), 'L8', 'a run starts after a stop');
    if (effect.type === 'check' && this.#stopped) {
      // The check in flight may finish, and runs again if the driver crashes during it.
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
    this.#progress.book(before, event, after);
  }

  late(before: LoopState, event: LoopEvent, after: LoopState): void {
    this.#follow(before, event, after);
    const { now, activeMs } = after;
    must(same({ ...before, now, activeMs }, after), 'L6', `a late ${event.type} changes the state`);
  }

  #follow(before: LoopState, event: LoopEvent, after: LoopState): void {
    must(
      before === this.#live || same(before, this.#shadow),
      'L5',
      'a new owner folds another state than the old one had',
    );
    this.#live = after;
    // Policies are big and compared at the end; everything else goes through JSON, as in a journal.
    this.#shadow = evolve(this.#shadow, 'policy' in event ? event : readBack(event));
    must(same(after, this.#shadow), 'L5', `the fold differs after ${event.type}`);
  }

  #book(before: LoopState, event: LoopEvent, after: LoopState): void {
    const { limits } = before.policy;
    this.#notices.book(before, event, after, this.#spending);
    switch (event.type) {
      case 'iteration.started':
        must(event.iteration === ++this.#iterations, 'L1', `not iteration ${this.#iterations}`);
        if (limits.iterations !== null)
          must(event.iteration <= limits.iterations, 'L1', `iteration ${event.iteration} is one too many`);
        must(!this.#paused && !this.#stopped, 'L8', 'an iteration starts after a pause or a stop');
        this.#claims.iterationStarted();
        must(!this.#unchecked, 'L13', 'an iteration starts before the work of the last one is finished');
        return;
      case 'run.planned':
        return this.#runPlanned(before, event);
      case 'run.output':
        if (this.#open !== event.run) return;
        this.#lastOutput.set(event.run, event);
        this.#spending.output(event.run, event);
        return;
      case 'run.ended':
        return this.#runEnded(before, event, after);
      case 'probe.finished':
        return this.#claims.probed(event);
      case 'checks.started':
        must(!this.#stopped, 'L8', 'checks start after a stop');
        return;
      case 'check.finished':
        if (event.iteration > 0) this.#claims.checked(event.index, event.result.code === 0);
        else must(this.#iterations === 0 && event.index === before.baseline.length, 'L6', 'wrong baseline');
        return;
      case 'evidence.examined':
        must(this.#open === null, 'L4', 'the evidence is examined while a run is open');
        this.#claims.isExamined = true;
        return;
      case 'evidence.restored':
        must(before.policy.evidence.onProtectedChange === 'restore', 'L14', 'files are put back unasked');
        return;
      case 'claim.made':
        return this.#claims.made(event, this.#lastOutput);
      case 'claim.accepted':
        return this.#claims.accepted(event, before);
      case 'control.received':
        return this.#control(before, event);
      case 'loop.ended':
        return this.#loopEnded(before, event);
      case 'loop.reopened':
        if (event.because !== undefined) return this.#claims.judgedAgain(before);
        // After a stop or an abort the iteration still owes its checks, its commit and its checkpoint.
        if (!this.#stopped) this.#unchecked = false;
        this.#resume();
        this.#notBefore = this.#rung = this.#outages = 0;
        this.#failures.consecutive = 0;
        this.#spending.reopened();
        return;
      case 'limit.shared':
        must(before.turn.run === null, 'L4', 'a shared limit is written during a run');
        this.#expected = this.#notBefore = event.resetsAt;
        this.#spending.limitHit();
        return;
      case 'question.asked':
        return this.#questions.asked(event);
      case 'timer.fired': {
        if (event.key.startsWith('answer:')) return this.#questions.timerFired(event, after);
        const closes = after.turn.iteration > before.turn.iteration;
        const checked = this.#claims.checkCount === before.policy.checks.commands.length;
        if (closes) must(!this.#unchecked || checked, 'L3', 'an iteration ends and its run was not checked');
        if (closes) this.#claims.mustBeExamined(before, 'an iteration ends');
        if (closes) this.#iterationEnds(before);
        return;
      }
      case 'claim.rejected':
        return this.#claims.rejected(event, before);
      case 'policy.changed':
        // Another policy may have other delays.
        this.#notBefore = 0;
        if (after.turn.claim === null && !after.turn.checksStarted) this.#claims.reset();
        if (after.turn.evidence === null) this.#claims.isExamined = false;
        return;
      case 'commit.made':
        must(this.#claims.passed(before), 'L13', 'work is committed although a check failed');
        must(event.done.length === 0 || this.#changes !== null, 'L13', 'a commit without anything to commit');
        this.#committed = true;
        this.#changes = null;
        return;
      case 'changes.found':
        this.#changes = changesIn(event);
        return;
      case 'checkpoint.taken':
        this.#checkpointed = true;
        return;
      case 'run.started':
        this.#spending.started(event.run);
        return;
      case 'start.recorded':
        must(this.#planned.size === 0, 'L14', 'the start is recorded after a run');
        return;
      case 'child.started':
      case 'child.ended':
        this.#children.book(event);
        return;
      case 'loop.created':
      case 'owner.left':
      case 'limit.neared':
      case 'unchanged.noticed':
      case 'family.counted':
        return;
      case 'owner.changed':
        this.#signals = 0;
        return;
    }
  }

  #runPlanned({ policy: { limits } }: LoopState, event: Extract<LoopEvent, { type: 'run.planned' }>): void {
    must(this.#open === null, 'L4', `run ${event.run} is planned while ${this.#open} is open`);
    must(!this.#planned.has(event.run), 'L4', `run ${event.run} is planned twice`);
    this.#planned.add(event.run);
    this.#open = event.run;
    must(!this.#stopped, 'L8', 'a run is planned after a stop');
    this.#spending.mayPlan(limits);
    if (event.purpose !== 'work') {
      must(this.#changes === 'some', 'L13', 'the agent is asked for a message without anything to commit');
      return;
    }
    must(!this.#paused, 'L8', 'a run is planned during a pause');
    this.#questions.mayPlan();
    must(event.at >= this.#notBefore, 'L9', `a run is planned ${this.#notBefore - event.at} ms too early`);
    const iteration = Number(event.run.split('.')[0]);
    must(iteration === this.#iterations, 'L1', `run ${event.run} is not of iteration ${this.#iterations}`);
    must(
      this.#unfinishedIteration === null || iteration === this.#unfinishedIteration,
      'L12',
      'a run that was cut short is charged as an iteration',
    );
    this.#claims.reset();
  }

  #runEnded(before: LoopState, event: Extract<LoopEvent, { type: 'run.ended' }>, after: LoopState): void {
    must(this.#open === event.run, 'L4', `run ${event.run} ends while ${this.#open} is open`);
    must(!this.#ended.has(event.run), 'L4', `run ${event.run} ends twice`);
    must(!this.#world.alive().includes(event.run), 'L4', `run ${event.run} ended but still runs`);
    this.#ended.add(event.run);
    this.#spending.ended(event.run, event.as);
    this.#open = null;
    const run = after.turn.run;
    if (run?.id !== event.run) return;
    const as = run.ended?.as;
    this.#claims.runEnded(as ?? null);
    const output = this.#lastOutput.get(event.run);
    const hasFinished =
      event.ending.how === 'exited'
        ? event.ending.code !== 42
        : event.ending.how === 'timed-out' && event.ending.which !== 'total';
    if (output?.limit && output.said !== 'success' && hasFinished)
      must(as === 'usage-limit', 'L12', `a usage limit is classified as ${as}`);
    this.#unchecked = producedWork(as);
    const { delay } = before.policy;
    if (as === 'failure') {
      this.#failures = { consecutive: this.#failures.consecutive + 1, total: this.#failures.total + 1 };
      this.#notBefore = event.at + backoff(delay, this.#failures.consecutive);
    } else if (as === 'outage') {
      this.#notBefore = event.at + outageDelay(this.#outages + 1);
    } else if (as === 'ok') {
      this.#failures.consecutive = 0;
      this.#notBefore = event.at + delay.afterOkMs;
    }
    must(same(after.failures, this.#failures), !isCutShort(as) ? 'L6' : 'L12', 'failures are miscounted');
    this.#expected = this.#notBefore;
    if (this.#paused) this.#notBefore = 0;
    this.#unfinishedIteration = isCutShort(as) ? this.#iterations : null;
    this.#outages = as === 'outage' ? this.#outages + 1 : 0;
    this.#rung = as === 'usage-limit' ? this.#rung + 1 : 0;
    if (as !== 'usage-limit') return;
    this.#spending.limitHit();
    const resetsAt = this.#lastOutput.get(event.run)?.limit?.resetsAt ?? null;
    const ladder = delay.usageLimitLadderMs;
    const ladderStep = (rung: number): number => ladder[Math.min(rung, ladder.length - 1)] ?? 0;
    const stated = resetsAt !== null && resetsAt > event.at;
    const patience = this.#rung === 1 ? 0 : ladderStep(this.#rung - 2);
    this.#notBefore =
      event.at + (stated ? Math.max(resetsAt - event.at, patience) : ladderStep(this.#rung - 1));
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
    if (control.type === 'answer') this.#questions.answered(control.question);
    if (control.type === 'pause') pause();
    if (control.type === 'resume') {
      this.#resume();
      if (control.now) this.#notBefore = 0;
    }
    this.#aborted ||= control.type === 'abort';
    if (control.type === 'stop' || this.#aborted) this.#stopped = true;
    if (control.type !== 'signal') return;
    this.#signals++;
    if (this.#signals === 1 && policy.signals[control.signal] === 'pause') pause();
    else this.#stopped = true;
  }

  /** Checks that nothing is missing when an iteration ends. */
  #iterationEnds(before: LoopState): void {
    const { policy } = before;
    if (policy.checkpoint) must(this.#checkpointed, 'L10', 'an iteration ends without its checkpoint');
    if (policy.commit !== null && this.#unchecked && this.#claims.passed(before))
      must(this.#committed, 'L13', 'work that passed its checks is not committed');
    this.#committed = false;
    this.#checkpointed = false;
    this.#unchecked = false;
  }

  /** A person who resumes supersedes every earlier pause, stop, signal and abort. */
  #resume(): void {
    this.#paused = false;
    this.#stopped = false;
    this.#aborted = false;
    this.#lastCheck = null;
    this.#signals = 0;
  }

  #loopEnded(before: LoopState, { outcome, at }: Extract<LoopEvent, { type: 'loop.ended' }>): void {
    const { policy, turn } = before;
    const { commands } = policy.checks;
    must(
      this.#open === null && this.#planned.size === this.#ended.size,
      'L4',
      'the loop ends while a run is open',
    );
    must(this.#world.alive().length === 0, 'L4', 'the loop ends while an agent runs');
    if (this.#stopped)
      must(outcome.type === (this.#aborted ? 'fatal' : 'stopped'), 'L8', `a stop ends as ${outcome.type}`);
    else must(outcome.type !== 'stopped', 'L8', 'the loop is stopped without a request');
    const [iterations, failures, ms] = [this.#iterations, this.#failures.consecutive, before.activeMs];
    const { limitWaits } = this.#spending;
    const [usd, tokens] = [this.#spending.charged('usd'), this.#spending.charged('tokens')];
    const books = { usd, tokens, iterations, failures, ms, limitWaits, now: before.now };
    must(isReached(outcome, policy.limits, books), 'L1', `${outcome.type} before the limit is reached`);
    if (outcome.type !== 'done') return;
    must(
      outcome.verified === (commands.length > 0 && this.#claims.passed(before)),
      'L3',
      '`verified` contradicts the checks',
    );
    must(this.#claims.isAccepted, 'L3', 'done without an accepted claim');
    const patience = this.#claims.acceptedAt + (policy.children?.waitMs ?? 0);
    this.#children.compare(outcome.childrenLeft);
    must(outcome.childrenLeft.length === 0 || at >= patience, 'L9', 'it did not wait for children');
    const passed = this.#claims.passed(before);
    if (policy.completion.until !== 'claim')
      must(passed, 'L3', 'done although not every check passed after the last run');
    if (outcome.verified) must(passed && commands.length > 0, 'L3', 'verified without checks');
    must(turn.claim !== null, 'L3', 'done without a claim');
  }

  /** Compares the books with the final state. */
  close(state: LoopState, journal: readonly LoopEvent[]): void {
    // Everything but the policy was compared after each event; a sample of whole journals suffices for the policy.
    if (journal.length % 8 === 0)
      must(same(fold(readBack(journal)), state), 'L5', 'the fold of the journal is not the live state');
    const { knownUsd } = this.#spending;
    const isSame = Math.abs(state.spent.usd - knownUsd) < 1e-9;
    must(isSame, 'L6', `$${state.spent.usd} in the state, $${knownUsd} spent`);
    must(state.iteration === this.#iterations, 'L6', 'iterations are miscounted');
  }
}
