import type { WaitReason } from './effect.ts';
import type { Tokens } from './event.ts';
import type { Outcome } from './outcome.ts';
import { isCutShort, openRun } from './run.ts';
import type { LoopState, Progress, Run, Spend } from './state.ts';

/**
 * The first limit that is reached, in the order iterations, cost, tokens, time. Money and time are reached when
 * they are equal to the limit. The number of iterations does not end one that has begun.
 */
export function exhausted(state: LoopState): Outcome | null {
  const { iterations } = state.policy.limits;
  const { started, run } = state.turn;
  const hasBegun = started && (run === null || isCutShort(run.ended?.as));
  if (iterations !== null && state.iteration >= iterations && !hasBegun) {
    return { type: 'iterations-exhausted', limit: iterations };
  }
  return spendingExhausted(state);
}

/** The limit on money, tokens or time that is reached, with what the running agent has used so far. */
export function spendingExhausted(state: LoopState): Outcome | null {
  const { limits } = state.policy;
  const spend = spentSoFar(state);
  const tokens = totalTokens(spend.tokens);
  // Sums of decimal fractions fall short by a hair: 0.1 + 0.7 is less than 0.8.
  if (limits.costUsd !== null && spend.usd + 1e-9 >= limits.costUsd) {
    return { type: 'cost-exhausted', limitUsd: limits.costUsd, spentUsd: spend.usd };
  }
  if (limits.tokens !== null && tokens >= limits.tokens) {
    return { type: 'tokens-exhausted', limit: limits.tokens, spent: tokens };
  }
  if (limits.timeMs !== null && state.activeMs >= limits.timeMs) {
    return { type: 'time-exhausted', limitMs: limits.timeMs };
  }
  return null;
}

/** The moment at which the loop's time at work is used up, as seen from now. */
export function deadline(state: LoopState): number | null {
  const { timeMs } = state.policy.limits;
  return timeMs === null ? null : state.now + Math.max(0, timeMs - state.activeMs);
}

/**
 * The wait that closes the turn: always there after a run, sometimes of no length. A pause ends it at once, except
 * at a usage limit, which does not go away by it; the end of the loop's own time ends it too.
 */
export function waitAfter(state: LoopState, run: Run): { readonly until: number; readonly why: WaitReason } {
  const { ms, why } = delayAfter(state, run);
  const length = state.control.paused && why !== 'usage-limit' ? 0 : ms;
  return { until: capAtDeadline(state, state.turn.at + length), why };
}

function delayAfter(state: LoopState, run: Run): { readonly ms: number; readonly why: WaitReason } {
  switch (run.ended?.as) {
    case 'usage-limit':
      return { ms: usageLimitMs(state, run), why: 'usage-limit' };
    case 'failure':
      return { ms: backoffMs(state, state.failures.consecutive), why: 'backoff' };
    case 'outage':
      return { ms: backoffMs(state, state.outages), why: 'outage' };
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

/** `min(2^(n-1), cap)` for the n-th time in a row, or always the same. */
function backoffMs({ policy }: LoopState, times: number): number {
  const { afterFailure } = policy.delay;
  if (afterFailure.kind === 'fixed') return afterFailure.ms;
  return Math.min(1000 * 2 ** Math.max(0, times - 1), afterFailure.capMs);
}

/**
 * Until the stated reset, else up the ladder, which is also the least for a provider that keeps on saying "soon"; a
 * little more at random, so that not everybody comes at once.
 */
function usageLimitMs({ turn, policy, rung }: LoopState, run: Run): number {
  const resetsAt = run.output.limit?.resetsAt ?? null;
  const ladder = policy.delay.usageLimitLadderMs;
  const climb = (index: number): number => ladder[Math.min(Math.max(0, index), ladder.length - 1)] ?? 0;
  const ms =
    resetsAt === null || resetsAt <= turn.at
      ? climb(rung - 1)
      : Math.max(resetsAt - turn.at, rung < 2 ? 0 : climb(rung - 2));
  return spread(ms, run.ended?.jitter ?? 0);
}

/** A little more at random. */
export function spread(ms: number, jitter: number): number {
  return Math.ceil(ms + jitter * Math.min(LONGEST_JITTER, ms / 10));
}

const LONGEST_JITTER = 60_000;

/** The moment that a wait lasts to: nobody waits longer than the loop may be at work. */
export function capAtDeadline(state: LoopState, until: number): number {
  return Math.min(until, deadline(state) ?? Number.POSITIVE_INFINITY);
}

/** Closed runs and the running one. */
export function spentSoFar(state: LoopState): Spend {
  const running = openRun(state);
  return running === null ? state.spent : addRun(state.spent, running);
}

export const NOTHING_SPENT: Spend = {
  tokens: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  usd: 0,
  source: null,
  unknownRuns: 0,
};

export function addRun(spent: Spend, { output: { tokens, cost } }: Run): Spend {
  return {
    tokens: tokens === null ? spent.tokens : addTokens(spent.tokens, tokens),
    usd: spent.usd + (cost?.usd ?? 0),
    source: cost === null ? spent.source : spent.source === 'estimated' ? 'estimated' : cost.source,
    unknownRuns: spent.unknownRuns + (cost === null ? 1 : 0),
  };
}

function totalTokens({ input, output, cacheRead, cacheWrite }: Tokens): number {
  return input + output + cacheRead + cacheWrite;
}

export function addTokens(a: Tokens, b: Tokens): Tokens {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
  };
}

/** How the turn changed the work: the same tree and the same check results as before are one more unchanged turn. */
export function progressAfter({ progress, turn }: LoopState): Progress {
  const fingerprint = turn.after?.fingerprint ?? null;
  if (fingerprint === null) return progress;
  const checks =
    turn.checks.length === 0 ? null : turn.checks.map((result) => (result?.code === 0 ? '+' : '-')).join('');
  const sameTree = progress.fingerprint === fingerprint;
  const sameChecks = progress.checks === null || checks === null || progress.checks === checks;
  return { fingerprint, checks, unchanged: sameTree && sameChecks ? progress.unchanged + 1 : 0 };
}
