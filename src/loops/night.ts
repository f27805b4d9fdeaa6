/** What has happened in a loop from a moment on, folded from its journal in bounded memory. */
import { decide } from '../loop/decide.ts';
import type { WaitReason } from '../loop/effect.ts';
import type { LoopEvent, RunClass } from '../loop/event.ts';
import type { IterationReport } from '../loop/iteration-report.ts';
import { learn, NOTHING_KNOWN, type Knowledge } from '../loop/report.ts';
import type { OpenQuestion } from '../loop/questions.ts';

export interface Night {
  readonly iterations: number;
  /** Null if no cost is known. */
  readonly costUsd: number | null;
  readonly runsOfUnknownCost: number;
  readonly runs: number;
  readonly commits: number;
  /** The last few claims to be done that were rejected. */
  readonly rejections: readonly Rejection[];
  readonly rejectedClaims: number;
  /** The waits that are over and took a second or longer. */
  readonly waits: readonly WaitSum[];
  /** How often the process of the loop died, and how long the loop had none. */
  readonly crashes: { readonly count: number; readonly ms: number };
  /** The last few questions. */
  readonly questions: readonly AskedQuestion[];
  readonly asked: number;
  /** The most expensive runs, the most expensive first. */
  readonly dearestRuns: readonly RunCost[];
  readonly lastCommits: readonly Commit[];
  /** The last iterations, in order. */
  readonly points: readonly IterationPoint[];
}

export interface Rejection {
  readonly iteration: number;
  readonly because: 'checks' | 'protected-change';
  /** The checks that failed. */
  readonly failed: readonly string[];
  /** The protected files that were changed. */
  readonly files: readonly string[];
}

export interface WaitSum {
  readonly why: WaitReason;
  readonly count: number;
  readonly ms: number;
}

export interface AskedQuestion {
  readonly id: string;
  readonly text: string;
  /** Null while it is open. */
  readonly answer: string | null;
  readonly by: 'person' | 'default' | null;
}

export interface RunCost {
  readonly run: string;
  readonly usd: number;
  /** Its real cost is higher. */
  readonly isPartial: boolean;
  readonly durationMs: number;
  readonly as: RunClass;
}

export interface Commit {
  readonly commit: string;
  readonly subject: string | null;
  readonly files: number | null;
}

/** One iteration for a plot. */
export interface IterationPoint {
  readonly iteration: number;
  readonly durationMs: number;
  /** Null if it is unknown. */
  readonly costUsd: number | null;
  readonly checks: number;
  readonly failingChecks: number;
  /** How many tests the logs of the failing checks name; null if they name none, or were not read. */
  readonly failingTests: number | null;
  readonly claim: IterationReport['claim'];
  readonly how: HowItWent;
}

/** How an iteration went: its run failed or hit a usage limit, it made no progress, or what its checks said. */
export type HowItWent = 'passed' | 'failing' | 'failed' | 'limit' | 'unchanged' | 'unchecked';

/** Reads the logs of the failing checks of an iteration. */
export type CountTests = (iteration: IterationReport) => number | null;

/** Folds the pages of a journal. Events before `since` count only for what follows from them. */
export async function nightOf(
  pages: AsyncIterable<{ readonly events: readonly LoopEvent[] }>,
  since: number,
  countTests: CountTests,
): Promise<Night> {
  const fold = new NightFold(since);
  let known = NOTHING_KNOWN;
  for await (const { events } of pages)
    for (const event of events) {
      const before = known;
      known = learn(before, event);
      fold.take(event, before, known);
    }
  return fold.end(known, countTests);
}

class NightFold {
  readonly #since: number;
  readonly #rejections = new Last<Rejection>(KEPT);
  readonly #questions = new Last<AskedQuestion>(KEPT);
  readonly #commits = new Last<Commit>(KEPT);
  readonly #iterations = new Last<IterationReport>(KEPT_POINTS);
  /** Of the last iterations, what their reports do not say. */
  readonly #odd = new Map<number, 'limit' | 'unchanged'>();
  readonly #waits = new Map<WaitReason, WaitSum>();
  #runs: readonly RunCost[] = [];
  #counts = { runs: 0, unknown: 0, commits: 0 };
  #usd: number | null = null;
  #crashes = { count: 0, ms: 0 };

  constructor(since: number) {
    this.#since = since;
  }

  take(event: LoopEvent, before: Knowledge, after: Knowledge): void {
    this.#keepIteration(event, before);
    this.#keepOdd(event, before, after);
    if (event.at < this.#since) return;
    this.#answer(event, before, after);
    this.#wait(before, after);
    if (event.type === 'run.ended') this.#run(event, before, after);
    // A claim of a failed run is part of that failure.
    else if (event.type === 'claim.rejected' && event.because !== 'run-failed') {
      const { iteration, failed, because = 'checks', files = [] } = event;
      this.#rejections.add({ iteration, because, failed, files });
    } else if (event.type === 'question.asked')
      this.#questions.add({ id: event.id, text: event.text, answer: null, by: null });
    else if (event.type === 'commit.made' && after.report.commits > before.report.commits)
      this.#commit(event);
    else if (event.type === 'owner.changed' && hasCrashed(before)) {
      const { count, ms } = this.#crashes;
      this.#crashes = { count: count + 1, ms: ms + event.at - before.state.now };
    }
  }

  end({ report }: Knowledge, countTests: CountTests): Night {
    const last = report.iterations.at(-1);
    if (last !== undefined) this.#addIteration(last);
    return {
      iterations: this.#iterations.count,
      costUsd: this.#usd,
      runsOfUnknownCost: this.#counts.unknown,
      runs: this.#counts.runs,
      commits: this.#counts.commits,
      rejections: this.#rejections.all,
      rejectedClaims: this.#rejections.count,
      waits: [...this.#waits.values()].toSorted((a, b) => b.ms - a.ms),
      crashes: this.#crashes,
      questions: this.#questions.all,
      asked: this.#questions.count,
      dearestRuns: this.#runs,
      lastCommits: this.#commits.all,
      points: this.#iterations.all.map((one) => pointOf(one, this.#odd.get(one.iteration), countTests)),
    };
  }

  /** An iteration is complete when the next one starts. */
  #keepIteration(event: LoopEvent, { report }: Knowledge): void {
    const last = report.iterations.at(-1);
    if (event.type === 'iteration.started' && last !== undefined) this.#addIteration(last);
  }

  #keepOdd(event: LoopEvent, { state }: Knowledge, after: Knowledge): void {
    const { iteration, progress } = state;
    if (after.state.progress.unchanged > progress.unchanged) this.#odd.set(iteration, 'unchanged');
    if (event.type === 'iteration.started') this.#odd.delete(event.iteration - KEPT_POINTS - 1);
    if (event.type !== 'run.ended') return;
    if (event.as === 'usage-limit') this.#odd.set(iteration, 'limit');
    // It was run again after the limit.
    else this.#odd.delete(iteration);
  }

  #addIteration(iteration: IterationReport): void {
    if (iteration.startedAt + iteration.duration >= this.#since) this.#iterations.add(iteration);
  }

  #run(event: Extract<LoopEvent, { type: 'run.ended' }>, before: Knowledge, after: Knowledge): void {
    const { turn, spent, now } = before.state;
    const run = [turn.run, turn.messageRun].find((one) => one?.id === event.run);
    const unknown = after.state.spent.unknownRuns - spent.unknownRuns;
    // The difference of two sums has digits that no price has.
    const usd = Math.round((after.state.spent.usd - spent.usd) * 1e9) / 1e9;
    this.#counts.runs++;
    this.#counts.unknown += unknown;
    if (unknown > 0 && usd === 0) return;
    if (after.state.spent.source !== null) this.#usd = (this.#usd ?? 0) + usd;
    const durationMs = event.at - (run?.plannedAt ?? now);
    const cost = { run: event.run, usd, isPartial: unknown > 0, durationMs, as: event.as };
    this.#runs = [...this.#runs, cost].toSorted((a, b) => b.usd - a.usd).slice(0, KEPT);
  }

  #commit({ commit, subject, files }: Extract<LoopEvent, { type: 'commit.made' }>): void {
    this.#counts.commits++;
    if (commit !== null) this.#commits.add({ commit, subject: subject ?? null, files: files ?? null });
  }

  /** A question that is open no more has an answer. */
  #answer(event: LoopEvent, before: Knowledge, after: Knowledge): void {
    const open = after.state.questions;
    if (open.length >= before.state.questions.length) return;
    const answered = before.state.questions.filter(({ id }) => !open.some((one) => one.id === id));
    for (const question of answered) this.#questions.change((one) => withAnswer(one, question, event));
  }

  #wait({ report, state }: Knowledge, after: Knowledge): void {
    const ms = after.report.waits.ms - report.waits.ms;
    if (after.report.waits.count === report.waits.count) return;
    const wait = decide(state).find(({ type }) => type === 'wait');
    if (wait?.type !== 'wait') return;
    const { why } = wait;
    const sum = this.#waits.get(why) ?? { why, count: 0, ms: 0 };
    this.#waits.set(why, { why, count: sum.count + 1, ms: sum.ms + ms });
  }
}

function withAnswer(one: AskedQuestion, question: OpenQuestion, event: LoopEvent): AskedQuestion {
  if (one.id !== question.id || one.answer !== null) return one;
  const isPerson = event.type === 'control.received' && event.control.type === 'answer';
  return isPerson && event.control.type === 'answer'
    ? { ...one, answer: event.control.text, by: 'person' }
    : { ...one, answer: question.default ?? '', by: 'default' };
}

/** Whether the last owner neither left the loop nor rested. */
function hasCrashed({ state, report }: Knowledge): boolean {
  if (report.isLeft || state.policy.host === 'session') return false;
  return !decide(state).some(({ type }) => type === 'rest');
}

function pointOf(
  one: IterationReport,
  odd: 'limit' | 'unchanged' | undefined,
  countTests: CountTests,
): IterationPoint {
  const failing = one.checkResults.filter(({ passed }) => !passed);
  return {
    iteration: one.iteration,
    durationMs: one.duration,
    costUsd: one.cost === 0 && !one.costIsKnown ? null : one.cost,
    checks: one.checkResults.length,
    failingChecks: failing.length,
    failingTests: failing.length === 0 ? null : countTests(one),
    claim: one.claim,
    how: howItWent(one, odd),
  };
}

function howItWent(
  { error, checkResults, allChecksPassed }: IterationReport,
  odd: 'limit' | 'unchanged' | undefined,
): HowItWent {
  if (odd === 'limit') return 'limit';
  if (error !== null) return 'failed';
  if (odd === 'unchanged') return 'unchanged';
  if (checkResults.length === 0) return 'unchecked';
  return allChecksPassed ? 'passed' : 'failing';
}

/** The last few of many. */
class Last<T> {
  readonly #most: number;
  #all: readonly T[] = [];
  count = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get all(): readonly T[] {
    return this.#all;
  }

  add(one: T): void {
    this.count++;
    this.#all = [...this.#all, one].slice(-this.#most);
  }

  change(to: (one: T) => T): void {
    this.#all = this.#all.map(to);
  }
}

const KEPT = 5;
/** As many as a plot can show. */
const KEPT_POINTS = 120;
