import { charged, isWholeCost, tooManyUncharged } from './charge.ts';
import type { WaitReason } from './effect.ts';
import type { Tokens } from './event.ts';
import type { OfFamily, Outcome } from './outcome.ts';
import { isCutShort, openRun } from './run.ts';
import type { Charges, LoopState, Run, Spend } from './state.ts';

/**
 * The first limit that is reached, in the order iterations, cost, tokens, time. A limit is reached when it is equalled.
 * The iteration limit does not end an iteration that has started.
 */
export function exhausted(state: LoopState): Outcome | null {
  const { iterations } = state.policy.limits;
  const { started, run } = state.turn;
  const isUnfinished = started && (run === null || isCutShort(run.ended?.as));
  if (iterations !== null && state.iteration >= iterations && !isUnfinished) {
    return { type: 'iterations-exhausted', limit: iterations };
  }
  return spendingExhausted(state);
}

/** The cost, token or time limit that is reached, including what the running agent has used so far. */
export function spendingExhausted(state: LoopState): Outcome | null {
  return costExhausted(state) ?? tokensExhausted(state) ?? timeExhausted(state);
}

function costExhausted(state: LoopState): Outcome | null {
  const reached = reachedOf(state, 'usd');
  if (reached === null) return null;
  const { limit: limitUsd, spent: spentUsd, ...more } = reached;
  return { type: 'cost-exhausted', limitUsd, spentUsd, ...more };
}

function tokensExhausted(state: LoopState): Outcome | null {
  const reached = reachedOf(state, 'tokens');
  return reached === null ? null : { type: 'tokens-exhausted', ...reached };
}

/** The first limit of a kind that is reached or cannot be enforced: the loop's own one, then those of the loops above. */
function reachedOf(state: LoopState, kind: keyof Charges): Reached | null {
  const bounds = boundsOf(state, kind);
  if (bounds.length === 0) return null;
  const { sum, isUnknown, assumedRuns } = charged(state, kind, spentSoFar(state));
  for (const { limit, others, uncharged, ...whose } of bounds) {
    const unknown = isUnknown ? assumedRuns : tooManyUncharged(state, kind, uncharged);
    if (unknown !== null) return { limit, spent: null, assumedRuns: unknown, ...whose };
    // Floating-point sums can fall short: 0.1 + 0.7 < 0.8.
    if (sum + others + 1e-9 >= limit)
      return { limit, spent: sum + others, ...orNothing({ assumedRuns }), ...whose };
  }
  return null;
}

interface Reached extends OfFamily {
  readonly limit: number;
  readonly spent: number | null;
  readonly assumedRuns?: number;
}

/** The limits that hold for a loop, and what other loops have spent towards each. */
function boundsOf({ policy, family: { below, above } }: LoopState, kind: keyof Charges): readonly Bound[] {
  const { costUsd, tokens } = policy.limits;
  // A loop may always find out what its own runs use: otherwise a person who resumes it could do nothing.
  const own = { limit: kind === 'usd' ? costUsd : tokens, others: below[kind], uncharged: null };
  const upper = above.map(({ id, name, limits, others, uncharged }) => ({
    limit: limits[kind],
    others: others[kind],
    uncharged: uncharged[kind],
    family: { id, name },
  }));
  return [own, ...upper].flatMap(({ limit, ...bound }) => (limit === null ? [] : [{ ...bound, limit }]));
}

interface Bound extends OfFamily {
  readonly limit: number;
  readonly others: number;
  readonly uncharged: number | null;
}

/** A loop that belongs to no family, or has not read its ledger yet. */
export const NO_FAMILY: LoopState['family'] = { below: { loops: 0, usd: 0, tokens: 0 }, above: [] };

/** A sum without assumptions has no such field. */
function orNothing(assumed: { readonly assumedRuns: number }): { readonly assumedRuns?: number } {
  return assumed.assumedRuns === 0 ? {} : assumed;
}

function timeExhausted(state: LoopState): Outcome | null {
  const { timeMs } = state.policy.limits;
  if (timeMs !== null && state.activeMs >= timeMs) return { type: 'time-exhausted', limitMs: timeMs };
  const end = firstEnd(state);
  if (end?.family === undefined || state.now < end.at) return null;
  return { type: 'time-exhausted', limitMs: end.limitMs, family: end.family };
}

/** With its backoff, 300 outages in a row take about a day; the provider is not expected back. */
export function tooManyOutages({ outages, unanswered }: LoopState): Outcome | null {
  const ended = { type: 'failures-exhausted', outages: true } as const;
  if (unanswered >= MAX_UNANSWERED) return { ...ended, failures: unanswered, unanswered: true };
  return outages < MAX_OUTAGES ? null : { ...ended, failures: outages };
}

const MAX_OUTAGES = 300;

/** Each of them lasts as long as the inactivity timeout, and the agent itself may be the reason. */
const MAX_UNANSWERED = 5;

/** When the loop reaches a time limit if it works without a pause from now on: its own one, or that of a loop above. */
export function deadline(state: LoopState): number | null {
  return firstEnd(state)?.at ?? null;
}

/** The same of its own time limit alone. */
export function ownDeadline({ policy, now, activeMs }: LoopState): number | null {
  const { timeMs } = policy.limits;
  return timeMs === null ? null : now + Math.max(0, timeMs - activeMs);
}

function firstEnd(state: LoopState): End | null {
  const own = { at: ownDeadline(state), limitMs: state.policy.limits.timeMs };
  const upper = state.family.above.map(({ id, name, limits: { until, timeMs } }) => ({
    at: until,
    limitMs: timeMs,
    family: { id, name },
  }));
  return [own, ...upper].reduce<End | null>((first, { at, limitMs, ...end }) => {
    if (at === null || limitMs === null || (first !== null && first.at <= at)) return first;
    return { ...end, at, limitMs };
  }, null);
}

interface End extends OfFamily {
  readonly at: number;
  readonly limitMs: number;
}

/** The wait after a run, which may be 0 ms long. A pause ends it at once, except at a usage limit. */
export function waitAfter(state: LoopState, run: Run): { readonly until: number; readonly why: WaitReason } {
  const { ms, why } = delayAfter(state, run);
  const length = state.control.paused && why !== 'usage-limit' ? 0 : ms;
  return { until: state.turn.at + length, why };
}

function delayAfter(state: LoopState, run: Run): { readonly ms: number; readonly why: WaitReason } {
  switch (run.ended?.as) {
    case 'usage-limit':
      return { ms: usageLimitMs(state, run), why: 'usage-limit' };
    case 'failure':
      return { ms: failureMs(state), why: 'backoff' };
    case 'outage':
      return { ms: backoffMs(state.outages, OUTAGE_CAP_MS), why: 'outage' };
    case 'interrupted':
      return { ms: 0, why: 'delay' };
    case 'ok':
    case 'wait':
    case 'fatal':
    case 'restart':
    case undefined:
      return { ms: state.policy.delay.afterOkMs, why: 'delay' };
  }
}

function failureMs({ policy, failures }: LoopState): number {
  const { afterFailure } = policy.delay;
  return afterFailure.kind === 'fixed'
    ? afterFailure.ms
    : backoffMs(failures.consecutive, afterFailure.capMs);
}

/** `min(2^(n-1) s, cap)` after the n-th consecutive failure or outage. */
function backoffMs(times: number, capMs: number): number {
  return Math.min(1000 * 2 ** Math.max(0, times - 1), capMs);
}

/** The same in every preset: a preset decides about agents that fail, not about providers. */
const OUTAGE_CAP_MS = 300_000;

/**
 * Until the stated reset, else the next step of the ladder. The ladder is also the minimum wait when the provider keeps
 * stating a reset in the near future.
 */
function usageLimitMs(state: LoopState, run: Run): number {
  const resetsAt = statedReset(state, run);
  const ms =
    resetsAt === null
      ? ladderStep(state, state.rung - 1)
      : Math.max(resetsAt - state.turn.at, leastWaitMs(state));
  return spread(ms, run.ended?.jitter ?? 0);
}

/** The minimum wait for a limit with a stated reset. */
function leastWaitMs(state: LoopState): number {
  return state.rung < 2 ? 0 : ladderStep(state, state.rung - 2);
}

function ladderStep({ policy }: LoopState, index: number): number {
  const ladder = policy.delay.usageLimitLadderMs;
  return ladder[Math.min(Math.max(0, index), ladder.length - 1)] ?? 0;
}

/** How much longer than until the stated reset the loop waits after this run, and why. */
export function beyondReset(state: LoopState, run: Run): { readonly ms: number; readonly why: WhyLonger } {
  const resetsAt = statedReset(state, run);
  if (resetsAt === null) return { ms: 0, why: 'spread' };
  const isRepeated = leastWaitMs(state) > resetsAt - state.turn.at;
  return { ms: waitAfter(state, run).until - resetsAt, why: isRepeated ? 'repeated' : 'spread' };
}

/** The limit was reached again and again although it should have reset, or loops must not all retry at once. */
export type WhyLonger = 'repeated' | 'spread';

/** Adds a random part, so that loops that hit the same limit do not all retry at once. */
export function spread(ms: number, jitter: number): number {
  return Math.ceil(ms + jitter * Math.min(MAX_JITTER_MS, ms / 10));
}

const MAX_JITTER_MS = 60_000;

/**
 * The outcome if a usage limit resets only after the loop's own time limit, so that waiting for it is useless; without a
 * stated reset, the next retry counts.
 */
export function resetsTooLate(state: LoopState, until: number, resetsAt: number | null): Outcome | null {
  const end = firstEnd(state);
  if (end === null || (resetsAt ?? until) <= end.at) return null;
  const { limitMs, family } = end;
  return { type: 'time-exhausted', limitMs, resetsAt, ...(family === undefined ? {} : { family }) };
}

/** The outcome if the loop has waited for as many usage limits as it may; the one that it would wait for now is counted already. */
export function tooManyLimitWaits(
  { policy, limitWaits }: LoopState,
  resetsAt: number | null,
): Outcome | null {
  const most = policy.limits.limitWaits;
  if (most === null || limitWaits <= most) return null;
  return { type: 'limit-waits-exhausted', waits: most, resetsAt };
}

/** The reset that the provider stated for the usage limit of a run; null if it stated none, or one in the past. */
export function statedReset({ turn }: LoopState, { output }: Run): number | null {
  const resetsAt = output.limit?.resetsAt ?? null;
  return resetsAt === null || resetsAt <= turn.at ? null : resetsAt;
}

/** The end of a wait, at the latest when the loop reaches its time limit; null if it has no end. */
export function capAtDeadline<Until extends number | null>(state: LoopState, until: Until): number | Until {
  const end = deadline(state);
  return until === null || end === null ? (end ?? until) : Math.min(until, end);
}

/** What the ended runs and the running one have spent. */
export function spentSoFar(state: LoopState): Spend {
  const running = openRun(state);
  return running === null ? state.spent : addRun(state.spent, running);
}

export const NOTHING_SPENT: Spend = {
  tokens: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  usd: 0,
  source: null,
  unknownRuns: 0,
  unknownTokenRuns: 0,
  estimatedOutputRuns: 0,
};

export function addRun(spent: Spend, { output: { tokens, cost, outputEstimated } }: Run): Spend {
  return {
    tokens: tokens === null ? spent.tokens : addTokens(spent.tokens, tokens),
    usd: spent.usd + (cost?.usd ?? 0),
    source: cost === null ? spent.source : spent.source === 'estimated' ? 'estimated' : cost.source,
    unknownRuns: spent.unknownRuns + (isWholeCost(cost) ? 0 : 1),
    unknownTokenRuns: spent.unknownTokenRuns + (tokens === null ? 1 : 0),
    estimatedOutputRuns: spent.estimatedOutputRuns + (outputEstimated === true ? 1 : 0),
  };
}

/** What `a` has more than `b`, by kind. */
export function subtractTokens(a: Tokens, b: Tokens): Tokens {
  return {
    input: Math.max(0, a.input - b.input),
    output: Math.max(0, a.output - b.output),
    cacheRead: Math.max(0, a.cacheRead - b.cacheRead),
    cacheWrite: Math.max(0, a.cacheWrite - b.cacheWrite),
  };
}

export function addTokens(a: Tokens, b: Tokens): Tokens {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
  };
}
