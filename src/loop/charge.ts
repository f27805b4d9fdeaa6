/**
 * What counts towards the limits on cost and tokens. An unknown usage is not zero: a run that does not report its own is
 * charged as the dearest run of the loop whose usage is known. A loop in which no usage is known ends after two such runs.
 */
import type { Cost, RunClass, Tokens } from './event.ts';
import { openRun } from './run.ts';
import type { Charge, Charges, LoopState, Run, Spend } from './state.ts';

/** What counts towards a limit, given what is known to be spent; both include the running agent. */
export function charged(state: LoopState, kind: keyof Charges, spent: Spend): Charged {
  const known = kind === 'usd' ? spent.usd : totalTokens(spent.tokens);
  const { unknownRuns, blindRuns } = state.charges[kind];
  const dearest = dearestRun(state, kind);
  if (dearest === null) {
    const isUnknown = blindRuns >= MAX_BLIND_RUNS;
    return { sum: known, assumedRuns: isUnknown ? blindRuns : 0, isUnknown };
  }
  return { sum: known + unknownRuns * dearest, assumedRuns: unknownRuns, isUnknown: false };
}

/**
 * What a loop can say about its runs of unknown usage to the others of its family: the dearest run that it knows, and without one
 * the number of runs that it could not charge.
 */
export function unmetered(state: LoopState, kind: keyof Charges): Unmetered {
  const dearest = dearestRun(state, kind);
  return { dearest, runs: dearest === null ? state.charges[kind].unknownRuns : 0 };
}

/**
 * The runs of unknown usage in a family of which no usage is known, if they are too many for another run of this loop. Unlike those
 * of the loop alone they include runs that were stopped: an agent can start and stop loops. An open run may still report its usage.
 */
export function tooManyUncharged(
  state: LoopState,
  kind: keyof Charges,
  ofOthers: number | null,
): number | null {
  if (ofOthers === null || openRun(state) !== null || dearestRun(state, kind) !== null) return null;
  const runs = state.charges[kind].unknownRuns + ofOthers;
  return runs >= MAX_BLIND_RUNS ? runs : null;
}

/** The running agent counts too. */
function dearestRun(state: LoopState, kind: keyof Charges): number | null {
  const running = openRun(state);
  return dearer(state.charges[kind].dearest, running === null ? null : usageOf(running)[kind]);
}

export interface Unmetered {
  readonly dearest: number | null;
  readonly runs: number;
}

export const ALL_METERED: Unmetered = { dearest: null, runs: 0 };

export interface Charged {
  /** What is known, and the assumption for all other runs. */
  readonly sum: number;
  /** The runs of unknown usage in the sum; if nothing is known, those since the loop was last resumed. */
  readonly assumedRuns: number;
  /** No usage is known, and too many runs have ended to go on. */
  readonly isUnknown: boolean;
}

/** What counts towards a limit, if some of it is assumed; null without such a limit, and if nothing is assumed. */
export function assumptions(state: LoopState): Assumptions {
  const { costUsd, tokens } = state.policy.limits;
  const assumed = (kind: keyof Charges, limit: number | null): Assumption | null => {
    const { sum, assumedRuns: runs, isUnknown } = charged(state, kind, state.spent);
    return limit === null || runs === 0 || isUnknown ? null : { runs, sum };
  };
  return { usd: assumed('usd', costUsd), tokens: assumed('tokens', tokens) };
}

export type Assumptions = Readonly<Record<keyof Charges, Assumption | null>>;

/** The runs of unknown usage that are charged as the dearest known run, and the sum with them. */
export interface Assumption {
  readonly runs: number;
  readonly sum: number;
}

/** The first may be an accident; after the second there is no reason to expect that the third reports its usage. */
const MAX_BLIND_RUNS = 2;

/** The charges after a run has ended. */
export function chargesAfter({ usd, tokens }: Charges, run: Run, as: RunClass): Charges {
  const used = usageOf(run);
  return { usd: chargeAfter(usd, used.usd, run, as), tokens: chargeAfter(tokens, used.tokens, run, as) };
}

function chargeAfter(charge: Charge, used: number | null, { receipt }: Run, as: RunClass): Charge {
  if (used !== null) return { ...charge, dearest: dearer(charge.dearest, used) };
  if (receipt === null || isRefused(as)) return charge;
  // A person who stops a run does not make the limit unenforceable.
  const isBlind = as !== 'interrupted';
  return {
    ...charge,
    unknownRuns: charge.unknownRuns + 1,
    blindRuns: charge.blindRuns + (isBlind ? 1 : 0),
  };
}

/** Whether the provider, or the agent's own setup, refused the run before it could use much. */
function isRefused(as: RunClass): boolean {
  return as === 'usage-limit' || as === 'outage' || as === 'fatal';
}

/** A person who resumes the loop allows it further runs of unknown usage. */
export function chargesAfterReopening({ usd, tokens }: Charges): Charges {
  return { usd: { ...usd, blindRuns: 0 }, tokens: { ...tokens, blindRuns: 0 } };
}

function usageOf({ output: { cost, tokens } }: Run): Readonly<Record<keyof Charges, number | null>> {
  return {
    usd: isWholeCost(cost) ? cost.usd : null,
    tokens: tokens === null ? null : totalTokens(tokens),
  };
}

/** Whether the cost of a run is known, and all of it. */
export function isWholeCost(cost: Cost | null): cost is Cost {
  return cost !== null && cost.isPartial !== true;
}

export function totalTokens({ input, output, cacheRead, cacheWrite }: Tokens): number {
  return input + output + cacheRead + cacheWrite;
}

/** A run that used nothing says nothing about what another one may use. */
function dearer(a: number | null, b: number | null): number | null {
  const most = Math.max(a ?? 0, b ?? 0);
  return most > 0 && Number.isFinite(most) ? most : null;
}

const NOTHING: Charge = { dearest: null, unknownRuns: 0, blindRuns: 0 };

/** Before the first run. */
export const NO_CHARGES: Charges = { usd: NOTHING, tokens: NOTHING };
