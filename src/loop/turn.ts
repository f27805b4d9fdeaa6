import type { LoopState, Turn } from './state.ts';

/** Runs the agent of this iteration again, as if it had not run. */
export function runAgain(state: LoopState, ignoresSharedLimit = false): LoopState {
  const again = {
    before: null,
    sharedLimit: null,
    ignoresSharedLimit,
    run: null,
    after: null,
    at: state.now,
  };
  return { ...state, turn: { ...state.turn, ...NO_EVIDENCE, ...again } };
}

/** Takes back an end that its owner has not confirmed: the evidence is collected again, and then the claim is judged again. */
export function judgeAgain(state: LoopState): LoopState {
  return { ...state, outcome: null, turn: { ...state.turn, ...NO_EVIDENCE } };
}

/** What a new run or new rules reset: evidence, the claim, changes to commit and the wait for child loops. */
export const NO_EVIDENCE = {
  evidence: null,
  restoration: null,
  checksStarted: false,
  checks: [],
  claim: null,
  changes: null,
  recorded: null,
  childrenTimedOut: false,
} as const;

export const FIRST_TURN: Turn = {
  ...NO_EVIDENCE,
  iteration: 1,
  started: false,
  runs: 0,
  before: null,
  sharedLimit: null,
  ignoresSharedLimit: false,
  run: null,
  after: null,
  messageRun: null,
  committed: false,
  checkpointed: false,
  at: 0,
};
