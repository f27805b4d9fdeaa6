/** What Ralph did, told from the journal: one entry per thing that happened, in the words of the live lines. */
import { isWholeCost, assumptions } from '../loop/charge.ts';
import { decide } from '../loop/decide.ts';
import { ofLimit, duration, counted } from '../loop/counted.ts';
import type { LoopEvent, FamilyCount, Tokens } from '../loop/event.ts';
import { failureText } from '../loop/failure.ts';
import { limitChanges } from '../loop/limit-changes.ts';
import type { StopCause } from '../loop/outcome.ts';
import { NOTHING_KNOWN, costText, learn, spendOf, type Knowledge, type LoopReport } from '../loop/report.ts';
import { costOf, knownTokens, tokensOf } from '../loop/spend-text.ts';
import type { LoopState } from '../loop/state.ts';
import type { EndRecord } from '../projections/end-record.ts';
import { hideLikelyKeys } from '../loop/secrets.ts';
import type { Spec } from '../home/spec.ts';
import type { LoopSummary } from '../loops/summary.ts';
import { limitChangeText, givenLimits, limitWords } from './limits.ts';
import { brief, oneLine } from './one-line.ts';
import { linesFor, STOPPING } from './lines.ts';
import { WAITS } from './waits.ts';

/** One thing that happened. These are the fields of `ralph story --json`. */
export interface StoryEntry {
  /** In milliseconds since the epoch. */
  readonly at: number;
  /** The type of the journal's event; `now` for what the loop does at the moment, `totals` for the last entry. */
  readonly type: LoopEvent['type'] | 'now' | 'totals';
  /** The last iteration that was started; null before the first. */
  readonly iteration: number | null;
  readonly text: string;
  /** How long it took: of a run, check, wait, rest, time without an owner, or of the whole loop at its end. */
  readonly durationMs?: number;
  /** What a run or, at its end, the whole loop has cost in dollars; null if that is unknown. */
  readonly costUsd?: number | null;
  /** Present if only a part of the run's cost is known. */
  readonly costIsPartial?: true;
  /** The output tokens, and so the cost, are partly estimated from the text. */
  readonly outputEstimated?: true;
  /** Of the last entry. */
  readonly totals?: StoryTotals;
}

/** The sums of a loop for programs; the text of the entry says the same. */
export interface StoryTotals {
  /** Null if it is unknown. */
  readonly costUsd: number | null;
  readonly costSource: 'reported' | 'estimated' | null;
  readonly runsOfUnknownCost: number;
  /** Null if they are unknown. */
  readonly tokens: Tokens | null;
  readonly runsOfUnknownTokens: number;
  /** Runs whose output tokens are partly estimated. */
  readonly runsOfEstimatedOutput: number;
  /** What child loops and theirs have spent, which is in none of the sums above, and how many have. */
  readonly spentByChildren: FamilyCount['below'];
  readonly commits: number;
  /** Files that differ between the start and the last checkpoint; null without checkpoints. */
  readonly changedFiles: number | null;
  /** Waits of a second or longer that are over, and how long they took together. */
  readonly waits: number;
  readonly waitedMs: number;
}

/** The loop that a story is about. */
interface StoryOf {
  readonly spec: Spec;
  readonly isVerbose: boolean;
  /** How it ended. */
  readonly endRecord: (state: LoopState, report: LoopReport, spec: Spec) => EndRecord;
}

/** Which entries are wanted. */
export interface StoryFilter {
  /** The first moment that is wanted. */
  readonly from: number;
  /** Null for all. */
  readonly iteration: number | null;
}

/** The entries of a story, as its events are read. */
export async function* storyOf(
  pages: AsyncIterable<{ readonly events: readonly LoopEvent[] }>,
  about: StoryOf,
  { from, iteration }: StoryFilter,
): AsyncGenerator<StoryEntry, void, void> {
  let known: Knowledge = NOTHING_KNOWN;
  for await (const { events } of pages)
    for (const event of events) {
      const before = known;
      known = learn(before, event);
      for (const entry of entriesFor(event, before, known, about))
        if (entry.at >= from && (iteration === null || entry.iteration === iteration)) yield entry;
    }
}

/** The entries for an event; `before` and `after` is what was known before and after it. */
export function entriesFor(
  event: LoopEvent,
  before: Knowledge,
  after: Knowledge,
  about: StoryOf,
): readonly StoryEntry[] {
  const told = tell(event, before, after, about);
  const lines = told.lines ?? linesFor(event, after.state, after.report);
  const details = about.isVerbose ? detailsOf(event) : [];
  const { iteration } = before.state.iteration > 0 ? before.state : after.state;
  const number = event.type === 'iteration.started' ? event.iteration : iteration;
  const entry = (text: string): StoryEntry => ({
    at: event.at,
    type: event.type,
    iteration: number === 0 ? null : number,
    text: hideLikelyKeys(oneLine(text)),
  });
  const [first, ...others] = [...lines, ...details];
  return first === undefined ? [] : [{ ...entry(first), ...told.facts }, ...others.map(entry)];
}

/** What the loop does now, if it has not ended. */
export function entryForNow(summary: LoopSummary, at: number): StoryEntry | null {
  const text = nowText(summary);
  if (text === null) return null;
  const { iterations } = summary;
  return {
    at,
    type: 'now',
    iteration: iterations === 0 ? null : iterations,
    text: hideLikelyKeys(oneLine(text)),
  };
}

/**
 * The last entry of a story: what the loop has used and made in all, including a run that goes on. `below` is what its
 * children have spent until now.
 */
export function entryForTotals(
  loop: Knowledge,
  below: FamilyCount['below'],
  changedFiles: number | null,
  at: number,
): StoryEntry {
  const { total } = spendOf(loop);
  const charged = assumptions(loop.state);
  const { iteration } = loop.state;
  const { commits, waits } = loop.report;
  const tokens = knownTokens(total);
  const parts = [
    `cost ${costOf(total, charged.usd, below)}`,
    tokens === null && below.tokens === 0
      ? 'tokens unknown'
      : `tokens: ${tokensOf(total, charged.tokens, below) ?? '0'}`,
    counted(commits, 'commit'),
    ...(changedFiles === null ? [] : [counted(changedFiles, 'changed file')]),
    waits.count === 0 ? 'no waits' : `waited ${duration(waits.ms, ' ')} (${counted(waits.count, 'wait')})`,
  ];
  return {
    at,
    type: 'totals',
    iteration: iteration === 0 ? null : iteration,
    text: `in all: ${parts.join('; ')}`,
    totals: {
      costUsd: total.source === null ? null : total.usd,
      costSource: total.source,
      runsOfUnknownCost: total.unknownRuns,
      tokens,
      runsOfUnknownTokens: total.unknownTokenRuns,
      runsOfEstimatedOutput: total.estimatedOutputRuns,
      spentByChildren: below,
      commits,
      changedFiles,
      waits: waits.count,
      waitedMs: waits.ms,
    },
  };
}

function nowText(summary: LoopSummary): string | null {
  const { status, owner, waiting, reason, warning, iterations, iterationLimit, name } = summary;
  if (status === 'running') {
    const count = ofLimit(iterations, iterationLimit);
    return `still running (process ${owner}), ${waiting === null ? `iteration ${count}` : `waiting: ${waiting}`}`;
  }
  if (status === 'in-session') return `in a session, iteration ${ofLimit(iterations, iterationLimit)}`;
  const resume = `resume it with: ralph resume ${name}`;
  if (status === 'paused') return `paused; ${resume}`;
  return status === 'crashed' || status === 'left'
    ? [`${status}: ${reason ?? 'no process runs it'}`, warning ?? [], resume].flat().join('; ')
    : null;
}

interface Told {
  /** Undefined for the lines that are shown live. */
  readonly lines?: readonly string[];
  readonly facts?: Pick<StoryEntry, 'durationMs' | 'costUsd' | 'costIsPartial' | 'outputEstimated'>;
}

function tell(event: LoopEvent, before: Knowledge, after: Knowledge, { spec, endRecord }: StoryOf): Told {
  const sinceLast = event.at - before.state.now;
  switch (event.type) {
    case 'loop.created':
      return { lines: [createdLine(event, spec)] };
    case 'run.planned':
      return event.purpose === 'work' && !event.run.endsWith('.1')
        ? { lines: [`starting iteration ${after.state.iteration} again (run ${event.run})`] }
        : {};
    case 'run.ended':
      return tellRun(event, before, after);
    case 'check.finished':
      return { facts: { durationMs: event.result.durationMs } };
    case 'claim.made': {
      const { by, text } = event.claim;
      return by === 'checks' ? {} : { lines: [`the agent claims to be done (${by}: ${text})`] };
    }
    case 'claim.rejected': {
      const [line = ''] = linesFor(event, after.state, after.report);
      // Without failed checks the line says what else was wrong.
      return event.failed.length === 0 || event.because !== undefined
        ? {}
        : { lines: [`${line}: ${event.failed.map(brief).join(', ')}`] };
    }
    case 'timer.fired':
      return tellWait(event, before);
    case 'control.received':
      return tellControl(event, before, after, sinceLast);
    case 'owner.changed':
      return tellOwner(event, before, after, sinceLast);
    case 'loop.reopened':
      return { facts: { durationMs: sinceLast } };
    case 'loop.ended': {
      const { reason, exitCode, durationMs, costUsd } = endRecord(after.state, after.report, spec);
      const isNew = (line: string): boolean => !reason.startsWith(line.replace(STOPPING, ''));
      const lines = linesFor(event, after.state, after.report).filter(isNew);
      const end = `ended after ${duration(durationMs, ' ')}: ${reason} (exit code ${exitCode})`;
      return { lines: [end, ...lines], facts: { durationMs, costUsd } };
    }
    case 'policy.changed':
    case 'owner.left':
    case 'start.recorded':
    case 'evidence.examined':
    case 'evidence.restored':
    case 'iteration.started':
    case 'run.started':
    case 'run.output':
    case 'checks.started':
    case 'probe.finished':
    case 'claim.accepted':
    case 'changes.found':
    case 'family.counted':
    case 'commit.made':
    case 'checkpoint.taken':
    case 'limit.shared':
    case 'unchanged.noticed':
    case 'limit.neared':
    case 'child.started':
    case 'question.asked':
    case 'child.ended':
      return {};
  }
}

function createdLine({ name, policy }: Extract<LoopEvent, { type: 'loop.created' }>, spec: Spec): string {
  const { agent } = spec;
  const command = agent.kind === 'custom' ? brief(agent.argv.join(' ')) : agent.kind;
  const where =
    spec.place === 'session' ? `in a session of ${spec.tags?.[0] ?? 'a program'}` : `agent ${command}`;
  const checks = policy.checks.commands.map((check) => brief(check.command));
  return [
    `loop ${name} created: ${where}`,
    ...(agent.model === undefined ? [] : [`model ${agent.model}`]),
    `preset ${policy.preset}`,
    limitWords(givenLimits(policy)),
    checks.length === 0 ? 'no checks' : `${checks.length === 1 ? 'check' : 'checks'} ${checks.join(', ')}`,
  ].join(', ');
}

/** The end of a run, with what it has cost. */
function tellRun(
  event: Extract<LoopEvent, { type: 'run.ended' }>,
  before: Knowledge,
  after: Knowledge,
): Told {
  const { state, report } = after;
  const run = [state.turn.run, state.turn.messageRun].find((one) => one?.id === event.run);
  const durationMs = event.at - (run?.plannedAt ?? before.state.now);
  const known = run?.output.cost ?? null;
  const facts = {
    durationMs,
    costUsd: known?.usd ?? null,
    ...(known?.isPartial === true ? { costIsPartial: true as const } : {}),
    ...(run?.output.outputEstimated === true ? { outputEstimated: true as const } : {}),
  };
  const estimate = run?.output.outputEstimated === true ? ' (output estimated)' : '';
  const cost = `, cost: ${costText(known?.usd ?? 0, isWholeCost(known))}${estimate}`;
  if (run?.purpose === 'commit-message') {
    const why = failureText(event.ending, event.as) ?? event.ending.how;
    const what = event.as === 'ok' ? 'the agent wrote a commit message' : `no commit message: ${why}`;
    return { lines: [`${what} (duration: ${duration(durationMs, ' ')})${cost}`], facts };
  }
  const [line = `run ${event.run} ended`, ...others] = linesFor(event, state, report);
  const limit = event.as === 'usage-limit' ? (run?.output.limit?.message ?? null) : null;
  return { lines: [`${line}${limit === null ? '' : ` (${limit})`}${cost}`, ...others], facts };
}

/** A wait that is over: why the loop waited, how long it really did, and how long it meant to. */
function tellWait(event: Extract<LoopEvent, { type: 'timer.fired' }>, { state }: Knowledge): Told {
  const wait = decide(state).find(({ key }) => key === event.key);
  if (wait?.type === 'children') return {};
  if (wait?.type !== 'wait') return { lines: [] };
  const from = state.turn.at;
  const durationMs = event.at - from;
  if (wait.until === null) return { lines: [] };
  const planned = wait.until - from;
  // Every iteration ends with a wait, even one of 0 ms.
  if (durationMs < 1000 && planned < 1000) return { lines: [] };
  const of =
    Math.abs(planned - durationMs) < 2000 ? '' : ` instead of ${duration(Math.max(0, planned), ' ')}`;
  // Nothing else delays a timer.
  const why =
    durationMs - planned < 2000 ? '' : '; the loop was paused or had no process, or this machine slept';
  return {
    lines: [`waited ${duration(durationMs, ' ')}${of} ${WAITS[wait.why]}${why}`],
    facts: { durationMs },
  };
}

function tellControl(
  event: Extract<LoopEvent, { type: 'control.received' }>,
  before: Knowledge,
  after: Knowledge,
  sinceLast: number,
): Told {
  const { control } = event;
  const lines = linesFor(event, after.state, after.report);
  const [line = ''] = lines;
  switch (control.type) {
    case 'pause':
      return { lines: [requested(line)] };
    case 'resume': {
      const rested = before.state.control.paused && decide(before.state).some(({ type }) => type === 'rest');
      if (!rested) return { lines: [line.replace('resumed', 'resumed by a person')] };
      const how = control.now ? ' without waiting' : '';
      return {
        lines: [`resumed by a person after ${duration(sinceLast, ' ')} of rest${how}`],
        facts: { durationMs: sinceLast },
      };
    }
    case 'stop':
      return { lines: [requested(line, control.by)] };
    case 'tell':
      return { lines: [`guidance from a person: ${firstLine(control.text)}`] };
    case 'answer':
      return { lines: [`a person answered: ${firstLine(control.text)}`] };
    case 'set': {
      const changes = limitChanges(event, before.state);
      // A limit that was set to its old value is a request all the same.
      if (changes.length === 0) return { lines: [requested(line)] };
      return { lines: [`limits changed: ${changes.map(limitChangeText).join('; ')}`] };
    }
    case 'signal':
    case 'abort':
      return { lines };
  }
}

function firstLine(text: string): string {
  return text.trim().split('\n', 1)[0] ?? '';
}

function requested(line: string, by: StopCause = 'person'): string {
  return `${line} (requested by a ${by})`;
}

/** A new owner: without a rest before it, the last one has left, crashed or was killed. */
function tellOwner(
  event: Extract<LoopEvent, { type: 'owner.changed' }>,
  { state, report }: Knowledge,
  after: Knowledge,
  sinceLast: number,
): Told {
  const rested = decide(state).some(({ type }) => type === 'rest');
  // Every step of a session has an owner of its own, which leaves after it.
  if (state.policy.host === 'session' && (rested || report.isLeft)) return { lines: [] };
  const gap = duration(sinceLast, ' ');
  const what = rested
    ? `process ${event.owner} took the loop over after ${gap} of rest`
    : report.isLeft
      ? `process ${event.owner} took the loop over${sinceLast < 1000 ? '' : ` after ${gap} without an owner`}`
      : `the loop crashed; process ${event.owner} took it over after ${gap}`;
  return {
    lines: [[what, ...linesFor(event, after.state, after.report)].join(': ')],
    facts: { durationMs: sinceLast },
  };
}

/** More lines for `--verbose`. */
function detailsOf(event: LoopEvent): readonly string[] {
  if (event.type === 'run.started') return [`agent started (process ${event.receipt.pid})`];
  if (event.type !== 'checkpoint.taken' || event.ref === null || event.error !== null) return [];
  return [`checkpoint of iteration ${event.iteration}: ${event.ref}`];
}
