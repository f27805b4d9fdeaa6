/**
 * The fold: how an event changes the state. Nothing else writes state.
 *
 * 1. It trusts every event it reads: `admit.ts` judged the event when it was written.
 * 2. It handles every event type of this version; after the end it accepts only `loop.reopened`.
 * 3. The state does not grow with the number of iterations.
 */
import { chargesAfter, chargesAfterReopening, NO_CHARGES } from './charge.ts';
import { decide, stepsInFlight } from './decide.ts';
import { DEFAULT_POLICY } from './default-policy.ts';
import type { CheckResult, Control, Happening, LoopEvent, OutputSnapshot } from './event.ts';
import { failureText } from './failure.ts';
import { addRun, addTokens, NOTHING_SPENT, progressAfter, spread } from './limits.ts';
import type { Check, LimitsPolicy, Policy } from './policy.ts';
import { withWording } from './wording.ts';
import { endsByClaim, isCutShort, NO_OUTPUT, openRun, producedWork } from './run.ts';
import type { ControlState, Feedback, JudgedClaim, LoopState, Run, StopRequest, Turn } from './state.ts';

/** The state after an event. */
export function evolve(state: LoopState, event: LoopEvent): LoopState {
  if (!accepts(state, event)) return state;
  const now = Math.max(state.now, event.at);
  const isActive =
    state.created && !isResting(state) && event.type !== 'owner.changed' && event.type !== 'loop.reopened';
  return apply({ ...state, now, activeMs: state.activeMs + (isActive ? now - state.now : 0) }, event);
}

/** The state after a whole journal. */
export function fold(events: Iterable<LoopEvent>): LoopState {
  let state = INITIAL;
  for (const event of events) state = evolve(state, event);
  return state;
}

/** Whether an event may follow: first `loop.created`, and after the end only `loop.reopened`. */
export function accepts({ created, outcome }: LoopState, { type }: Happening): boolean {
  if (type === 'loop.created') return !created;
  return created && (type === 'loop.reopened') === (outcome !== null);
}

/** Whether the loop is paused and has nothing in progress. */
function isResting(state: LoopState): boolean {
  return state.control.paused && decide(state).some(({ type }) => type === 'rest');
}

function apply(state: LoopState, event: LoopEvent): LoopState {
  const { turn, now } = state;
  const inTurn = (change: Partial<Turn>): LoopState => ({ ...state, turn: { ...turn, ...change, at: now } });
  const judged = (change: Partial<JudgedClaim>): LoopState =>
    turn.claim === null ? state : inTurn({ claim: { ...turn.claim, ...change } });

  switch (event.type) {
    case 'loop.created':
      return { ...inTurn({}), created: true, name: event.name, policy: withWording(event.policy) };
    case 'policy.changed':
      return changePolicy(state, event.policy);
    case 'owner.changed':
      return { ...state, control: { ...state.control, signals: 0 } };
    case 'iteration.started':
      return { ...inTurn({ started: true }), iteration: event.iteration };
    case 'run.planned':
      return planRun(state, event);
    case 'run.started':
      return { ...updateRun(state, { receipt: event.receipt }), everStarted: true };
    case 'run.output':
      return updateRun(state, { output: snapshot(event, openRun(state)?.output ?? NO_OUTPUT) });
    case 'run.ended':
      return endRun(state, event);
    case 'checks.started':
      return inTurn({ checksStarted: true, checks: state.policy.checks.commands.map(() => null) });
    case 'check.finished':
      if (event.iteration === 0) return addToBaseline(state, event.result);
      return inTurn({
        checks: turn.checks.map((result, index) => (index === event.index ? event.result : result)),
      });
    case 'probe.finished': {
      const { phase, markers, problem, messages, fingerprint } = event;
      const probed = inTurn({ [phase]: { markers, problem, messages, fingerprint } });
      return phase === 'before' ? { ...probed, progress: baseline(state, fingerprint) } : probed;
    }
    case 'claim.made':
      return inTurn({ claim: { ...event.claim, verdict: 'open', verified: false } });
    case 'claim.accepted':
      return judged({ verdict: 'accepted', verified: event.verified });
    case 'claim.rejected':
      return judged({ verdict: 'rejected' });
    case 'changes.found':
      return inTurn({ changes: { any: event.any, committed: event.committed ?? false, error: event.error } });
    case 'commit.made':
      return inTurn({ committed: true });
    case 'checkpoint.taken':
      return inTurn({ checkpointed: true });
    case 'limit.shared': {
      const until = now + spread(event.resetsAt - now, event.jitter);
      return inTurn({ sharedLimit: { until, message: event.message } });
    }
    case 'timer.fired':
      if (event.key === 'children') return { ...state, turn: { ...turn, childrenTimedOut: true } };
      return turn.run === null ? inTurn({ sharedLimit: null }) : closeTurn(state, turn.run);
    case 'child.started':
      return { ...state, children: [...state.children, event.child] };
    case 'child.ended':
      return { ...state, children: state.children.filter((child) => child !== event.child) };
    case 'control.received':
      return applyControl(state, event.id, event.control);
    case 'loop.ended':
      return { ...state, outcome: event.outcome };
    case 'loop.reopened':
      return reopen(event.policy === null ? state : changePolicy(state, event.policy));
  }
}

function changePolicy(state: LoopState, written: Policy): LoopState {
  const policy = withWording(written);
  const { completion, checks } = state.policy;
  const sameChecks = same(checks.commands, policy.checks.commands);
  // Results of other checks are no evidence, and a claim that was judged by other rules is judged again.
  const turn =
    sameChecks && same(completion, policy.completion) ? state.turn : { ...state.turn, ...NO_EVIDENCE };
  return {
    ...state,
    policy,
    turn,
    baseline: sameChecks ? state.baseline : [],
    feedback: sameChecks ? state.feedback : { ...state.feedback, failed: [] },
  };
}

/** The first prompt tells the agent which checks failed before it began. */
function addToBaseline(state: LoopState, result: CheckResult): LoopState {
  const results = [...state.baseline, result];
  const failed = failedAmong(state.policy.checks.commands, results);
  return { ...state, baseline: results, feedback: { ...state.feedback, failed } };
}

/** Whether two parts of a policy, which is plain data, are equal. */
function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

export function withLimits(policy: Policy, changes: Partial<LimitsPolicy>): Policy {
  const stated = Object.entries(changes).filter(([, value]) => value !== undefined);
  return { ...policy, limits: { ...policy.limits, ...Object.fromEntries(stated) } };
}

function planRun(state: LoopState, event: Extract<Happening, { type: 'run.planned' }>): LoopState {
  const { run: id, purpose, guidance } = event;
  const run: Run = {
    id,
    purpose,
    plannedAt: state.now,
    receipt: null,
    guidance,
    output: NO_OUTPUT,
    ended: null,
  };
  const turn = { ...state.turn, runs: state.turn.runs + 1, at: state.now };
  if (purpose === 'commit-message') return { ...state, turn: { ...turn, messageRun: run } };
  return { ...state, turn: { ...turn, ...NO_EVIDENCE, run } };
}

function updateRun(state: LoopState, change: Partial<Run>): LoopState {
  const open = openRun(state);
  if (open === null) return state;
  const slot = open.purpose === 'work' ? 'run' : 'messageRun';
  return { ...state, turn: { ...state.turn, [slot]: { ...open, ...change } } };
}

function endRun(state: LoopState, event: Extract<Happening, { type: 'run.ended' }>): LoopState {
  const open = openRun(state);
  if (open === null) return state;
  const { ending, as, jitter } = event;
  const ended = updateRun(state, { ended: { ending, as, jitter } });
  const closed = {
    ...ended,
    spent: addRun(state.spent, open),
    charges: chargesAfter(state.charges, open, as),
    session: sessionAfter(state, open),
    turn: { ...ended.turn, at: state.now },
  };
  if (open.purpose === 'commit-message') return closed;

  const { consecutive, total } = state.failures;
  // Guidance goes into the next prompt again if no agent has read it or its run was cut short.
  const delivered = isCutShort(as) || open.receipt === null ? [] : open.guidance;
  return {
    ...closed,
    failures:
      as === 'failure'
        ? { consecutive: consecutive + 1, total: total + 1 }
        : { consecutive: as === 'ok' ? 0 : consecutive, total },
    rung: as === 'usage-limit' ? state.rung + 1 : 0,
    outages: as === 'outage' ? state.outages + 1 : 0,
    control: {
      ...state.control,
      guidance: state.control.guidance.filter(({ id }) => !delivered.includes(id)),
    },
  };
}

function sessionAfter({ session }: LoopState, { output }: Run): LoopState['session'] {
  const { session: id, tokens, cost } = output;
  if (id === undefined) return session;
  const before = session?.id === id ? session : null;
  return {
    id,
    tokens: addTokens(before?.tokens ?? NOTHING_SPENT.tokens, tokens ?? NOTHING_SPENT.tokens),
    usd: (before?.usd ?? 0) + (cost?.usd ?? 0),
  };
}

/** Moves on to the next iteration, or to another run of this one if its run was cut short. */
function closeTurn(state: LoopState, run: Run): LoopState {
  if (isCutShort(run.ended?.as)) return runAgain(state);
  return {
    ...state,
    turn: { ...FIRST_TURN, iteration: state.turn.iteration + 1, at: state.now },
    progress: producedWork(run.ended?.as) ? progressAfter(state) : state.progress,
    feedback: feedbackOf(state, run),
  };
}

function runAgain(state: LoopState, ignoresSharedLimit = false): LoopState {
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

/** Check failures stay in the feedback until the checks run again; an error is reported once. */
function feedbackOf({ policy, turn, feedback }: LoopState, run: Run): Feedback {
  return {
    failed: turn.checksStarted ? failedAmong(policy.checks.commands, turn.checks) : feedback.failed,
    error: run.ended === null ? null : failureText(run.ended.ending, run.ended.as),
  };
}

function failedAmong(
  commands: readonly Check[],
  results: readonly (CheckResult | null)[],
): Feedback['failed'] {
  return commands.flatMap((check, index) => {
    const result = results[index];
    return result === null || result === undefined || result.code === 0 ? [] : [{ index, ...check, result }];
  });
}

function applyControl(state: LoopState, id: string, control: Control): LoopState {
  const seen = [...state.control.seen, id].slice(-MAX_SEEN_CONTROLS);
  const acknowledged = { ...state, control: { ...state.control, seen } };
  const change = (changed: Partial<ControlState>): LoopState => ({
    ...acknowledged,
    control: { ...acknowledged.control, ...changed },
  });

  switch (control.type) {
    case 'pause':
      return change({ paused: true });
    case 'resume': {
      const { run } = state.turn;
      const resumed = change({ paused: false, signals: 0 });
      const isWaiting = run === null || run.ended?.as === 'usage-limit' || run.ended?.as === 'outage';
      return control.now && isWaiting ? runAgain(resumed, true) : resumed;
    }
    case 'stop':
      return change({ stop: stopRequest(state, control.now, control.by) });
    case 'signal': {
      const signals = state.control.signals + 1;
      const action = signals > 1 ? 'kill' : state.policy.signals[control.signal];
      if (action === 'pause') return change({ signals, paused: true });
      return change({ signals, stop: stopRequest(state, action === 'kill', 'signal') });
    }
    case 'tell':
      return change({ guidance: [...state.control.guidance, { id, text: control.text }] });
    case 'abort':
      return change({
        stop: {
          ...stopRequest(state, true, 'signal'),
          abort: { type: control.as ?? 'fatal', message: control.message },
        },
      });
    case 'set':
      return { ...acknowledged, policy: withLimits(state.policy, control.limits) };
  }
}

/** The steps in flight at the first request may finish; a later request can only add `now`. */
function stopRequest(state: LoopState, now: boolean, by: StopRequest['by']): StopRequest {
  const earlier = state.control.stop;
  if (earlier !== null) return { ...earlier, now: earlier.now || now };
  return { by, now, abort: null, finishing: stepsInFlight(state) };
}

/** Resets the counters that would end the loop again at once, and repeats a run that was cut short. */
function reopen(state: LoopState): LoopState {
  const next = turnAfterReopening(state);
  return {
    ...next,
    outcome: null,
    failures: { ...next.failures, consecutive: 0 },
    rung: 0,
    outages: 0,
    charges: chargesAfterReopening(next.charges),
    progress: { ...next.progress, unchanged: 0 },
    control: { ...next.control, paused: false, stop: null, signals: 0 },
  };
}

function turnAfterReopening(state: LoopState): LoopState {
  const { run } = state.turn;
  if (run === null)
    return { ...state, turn: { ...state.turn, ...NO_EVIDENCE, before: null, sharedLimit: null } };
  if (run.ended === null || run.ended.as === 'fatal' || isCutShort(run.ended.as)) return runAgain(state);
  // A person may have committed or discarded the changes meanwhile.
  const unexamined = { ...state, turn: { ...state.turn, changes: null } };
  return state.outcome?.type === 'stopped' ? unexamined : closeTurn(state, run);
}

function baseline({ progress }: LoopState, fingerprint: string | null): LoopState['progress'] {
  return progress.fingerprint === null ? { ...progress, fingerprint } : progress;
}

/** The last snapshot wins, but the agent cannot take back a claim for which its run is being ended. */
function snapshot(event: OutputSnapshot, earlier: OutputSnapshot): OutputSnapshot {
  const { offset, complained, session, unknown, tokens, cost, steps, said, limit } = event;
  const { claim, claimEndsRun } = endsByClaim(earlier) ? earlier : event;
  const known = { offset, tokens, cost, steps, said, claim, claimEndsRun, limit };
  return {
    ...known,
    ...(complained === undefined ? {} : { complained }),
    ...(session === undefined ? {} : { session }),
    ...(unknown === undefined ? {} : { unknown }),
  };
}

/** A repeated control arrives soon after the first, so the last ids suffice. */
const MAX_SEEN_CONTROLS = 100;

/** What a new run or new rules reset: evidence, the claim, changes to commit and the wait for child loops. */
const NO_EVIDENCE = {
  checksStarted: false,
  checks: [],
  claim: null,
  changes: null,
  childrenTimedOut: false,
} as const;

const FIRST_TURN: Turn = {
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

/** The state before the first event. */
export const INITIAL: LoopState = {
  created: false,
  name: '',
  policy: DEFAULT_POLICY,
  now: 0,
  activeMs: 0,
  outcome: null,
  iteration: 0,
  turn: FIRST_TURN,
  baseline: [],
  failures: { consecutive: 0, total: 0 },
  rung: 0,
  outages: 0,
  spent: NOTHING_SPENT,
  charges: NO_CHARGES,
  session: null,
  progress: { fingerprint: null, checks: null, unchanged: 0 },
  feedback: { failed: [], error: null },
  control: { paused: false, stop: null, guidance: [], seen: [], signals: 0 },
  children: [],
  everStarted: false,
};
