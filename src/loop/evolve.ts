/**
 * The fold: the only writer of state.
 *
 * 1. Total: every event is taken or ignored in every state; it never throws.
 * 2. Idempotent: an event that repeats what is known, belongs to another turn or comes too early changes nothing.
 * 3. Bounded: the state does not grow with the journal.
 */
import { decide, nextRunId, openRun, probeKey, stepsInFlight } from './decide.ts';
import type { Control, Happening, LoopEvent, OutputSnapshot } from './event.ts';
import { classify, failureText } from './failure.ts';
import { addRun, progressAfter, retriesSameIteration } from './limits.ts';
import type { Policy } from './policy.ts';
import { presets } from './presets.ts';
import type { ControlState, Feedback, LoopState, Run, StopRequest, Turn } from './state.ts';

/** The state after an event. */
export function evolve(state: LoopState, event: LoopEvent): LoopState {
  if (!accepts(state, event)) return state;
  const now = Math.max(state.now, event.at);
  const atWork =
    state.created && !isResting(state) && event.type !== 'owner.changed' && event.type !== 'loop.reopened';
  return apply({ ...state, now, activeMs: state.activeMs + (atWork ? now - state.now : 0) }, event);
}

/** What a whole journal folds to. */
export function fold(events: Iterable<LoopEvent>): LoopState {
  let state = INITIAL;
  for (const event of events) state = evolve(state, event);
  return state;
}

/** Whether an event may follow: nothing before the beginning, nothing after the end but a new beginning. */
export function accepts({ created, outcome }: LoopState, { type }: Happening): boolean {
  if (type === 'loop.created') return !created;
  return created && (type === 'loop.reopened') === (outcome !== null);
}

/** Whether a paused loop has nothing left to do. */
function isResting(state: LoopState): boolean {
  return state.control.paused && decide(state).some(({ type }) => type === 'rest');
}

function apply(state: LoopState, event: LoopEvent): LoopState {
  const { turn, now } = state;
  const inTurn = (change: Partial<Turn>): LoopState => ({ ...state, turn: { ...turn, ...change, at: now } });
  const current = (about: { iteration: number; run: string | null }): boolean =>
    about.iteration === turn.iteration && about.run === (turn.run?.id ?? null);

  switch (event.type) {
    case 'loop.created':
      return {
        ...state,
        created: true,
        name: event.name,
        policy: event.policy,
        turn: { ...state.turn, at: now },
      };
    case 'policy.changed':
      return changePolicy(state, event.policy);
    case 'owner.changed':
      return state;
    case 'iteration.started':
      if (event.iteration !== turn.iteration || turn.started) return state;
      return { ...inTurn({ started: true }), iteration: event.iteration };
    case 'run.planned':
      return planRun(state, event);
    case 'run.started':
      return { ...updateRun(state, event.run, (run) => ({ ...run, started: true })), everStarted: true };
    case 'run.output':
      return updateRun(state, event.run, (run) =>
        event.offset < run.output.offset ? run : { ...run, output: snapshot(event) },
      );
    case 'run.ended':
      return endRun(state, event);
    case 'checks.started':
      if (!current(event) || turn.checksStarted) return state;
      return inTurn({ checksStarted: true, checks: state.policy.checks.commands.map(() => null) });
    case 'check.finished':
      if (!current(event) || turn.checks[event.index] !== null) return state;
      return inTurn({ checks: turn.checks.with(event.index, event.result) });
    case 'probe.finished': {
      if (event.key !== probeKey(state, event.phase) || turn[event.phase] !== null) return state;
      const { markers, problem, messages, fingerprint } = event;
      const probed = inTurn({ [event.phase]: { markers, problem, messages, fingerprint } });
      return event.phase === 'before' ? { ...probed, progress: baseline(state, fingerprint) } : probed;
    }
    case 'claim.made':
      if (!current(event) || turn.claim !== null) return state;
      return inTurn({ claim: { ...event.claim, verdict: 'open', verified: false } });
    case 'claim.accepted':
      if (!current(event) || turn.claim?.verdict !== 'open') return state;
      return inTurn({ claim: { ...turn.claim, verdict: 'accepted', verified: event.verified } });
    case 'claim.rejected':
      if (!current(event) || turn.claim?.verdict !== 'open') return state;
      return inTurn({ claim: { ...turn.claim, verdict: 'rejected' } });
    case 'commit.made':
      return event.iteration === turn.iteration && !turn.committed ? inTurn({ committed: true }) : state;
    case 'checkpoint.taken':
      return event.iteration === turn.iteration && !turn.checkpointed
        ? inTurn({ checkpointed: true })
        : state;
    case 'timer.fired':
      return fireTimer(state, event.key);
    case 'child.started':
      return state.children.includes(event.child)
        ? state
        : { ...state, children: [...state.children, event.child] };
    case 'child.ended':
      return { ...state, children: state.children.filter((child) => child !== event.child) };
    case 'control.received':
      return obey(state, event.id, event.control);
    case 'loop.ended':
      return { ...state, outcome: event.outcome };
    case 'loop.reopened':
      return reopen(state);
  }
}

function changePolicy(state: LoopState, policy: Policy): LoopState {
  const before = state.policy.checks.commands.map(({ command }) => command);
  const after = policy.checks.commands.map(({ command }) => command);
  const same = before.length === after.length && before.every((command, index) => command === after[index]);
  // Results of other checks are no evidence, and a claim that was judged by them is open again.
  return { ...state, policy, turn: same ? state.turn : { ...state.turn, ...UNCHECKED } };
}

function planRun(state: LoopState, event: Extract<Happening, { type: 'run.planned' }>): LoopState {
  const { turn, now } = state;
  if (event.run !== nextRunId(state) || !turn.started || openRun(state) !== null) return state;
  const { run: id, purpose, guidance } = event;
  const run: Run = { id, purpose, started: false, guidance, output: NO_OUTPUT, ended: null };
  if (purpose === 'commit-message') {
    if (turn.run === null || turn.messageRun !== null) return state;
    return { ...state, turn: { ...turn, runs: turn.runs + 1, messageRun: run, at: now } };
  }
  if (turn.run !== null) return state;
  return { ...state, turn: { ...turn, ...UNCHECKED, after: null, runs: turn.runs + 1, run, at: now } };
}

/** Changes the open run with this id; any other is a thing of the past. */
function updateRun(state: LoopState, id: string, change: (run: Run) => Run): LoopState {
  const open = openRun(state);
  if (open?.id !== id) return state;
  const slot = open.purpose === 'work' ? 'run' : 'messageRun';
  return { ...state, turn: { ...state.turn, [slot]: change(open) } };
}

function endRun(state: LoopState, event: Extract<Happening, { type: 'run.ended' }>): LoopState {
  const open = openRun(state);
  if (open?.id !== event.run) return state;
  const { ending, jitter } = event;
  const as = classify(open, ending, state.policy);
  const run: Run = { ...open, ended: { ending, as, jitter } };
  const ended = updateRun(state, open.id, () => run);
  const closed = { ...ended, spent: addRun(state.spent, open), turn: { ...ended.turn, at: state.now } };
  if (open.purpose === 'commit-message') return closed;

  const { consecutive, total } = state.failures;
  const statesReset = (open.output.limit?.resetsAt ?? 0) > state.now;
  const taken = retriesSameIteration(run) ? [] : open.guidance;
  return {
    ...closed,
    failures:
      as === 'failure'
        ? { consecutive: consecutive + 1, total: total + 1 }
        : { consecutive: as === 'ok' ? 0 : consecutive, total },
    rung: as === 'usage-limit' ? state.rung + (statesReset ? 0 : 1) : 0,
    control: { ...state.control, guidance: state.control.guidance.filter(({ id }) => !taken.includes(id)) },
  };
}

/** A timer counts only while its wait is what is wanted, and not before its time: an old one must not close a turn. */
function fireTimer(state: LoopState, key: string): LoopState {
  const wait = decide(state).find((effect) => effect.key === key);
  if (wait === undefined || !('until' in wait) || state.now < wait.until) return state;
  if (wait.type === 'children') return { ...state, turn: { ...state.turn, childrenTimedOut: true } };
  return state.turn.run === null ? state : closeTurn(state, state.turn.run);
}

/** On to the next iteration, or to another run of this one where that was cut short. */
function closeTurn(state: LoopState, run: Run): LoopState {
  if (retriesSameIteration(run)) return runAgain(state);
  return {
    ...state,
    turn: { ...FIRST_TURN, iteration: state.turn.iteration + 1, at: state.now },
    progress: run.ended?.as === 'ok' ? progressAfter(state) : state.progress,
    feedback: feedbackOf(state, run),
  };
}

function runAgain(state: LoopState): LoopState {
  return {
    ...state,
    turn: { ...state.turn, ...UNCHECKED, before: null, run: null, after: null, at: state.now },
  };
}

/** What the checks last said stands until they say something else; an error is told once. */
function feedbackOf({ policy, turn, feedback }: LoopState, run: Run): Feedback {
  const failed = policy.checks.commands.flatMap(({ command }, index) => {
    const result = turn.checks[index];
    return result === null || result === undefined || result.code === 0 ? [] : [{ index, command, result }];
  });
  return {
    failed: turn.checksStarted ? failed : feedback.failed,
    error: run.ended === null ? null : failureText(run.ended.ending),
  };
}

function obey(state: LoopState, id: string, control: Control): LoopState {
  if (state.control.seen.includes(id)) return state;
  const seen = [...state.control.seen, id].slice(-REMEMBERED_CONTROLS);
  const heard = { ...state, control: { ...state.control, seen } };
  const change = (changed: Partial<ControlState>): LoopState => ({
    ...heard,
    control: { ...heard.control, ...changed },
  });

  switch (control.type) {
    case 'pause':
      return change({ paused: true });
    case 'resume': {
      const { run } = state.turn;
      const resumed = change({ paused: false });
      return control.now && run?.ended?.as === 'usage-limit' ? runAgain(resumed) : resumed;
    }
    case 'stop':
      return change({ stop: request(state, control.now, control.by) });
    case 'signal': {
      const signals = state.control.signals + 1;
      const action = signals > 1 ? 'kill' : state.policy.signals[control.signal];
      if (action === 'pause') return change({ signals, paused: true });
      return change({ signals, stop: request(state, action === 'kill', 'signal') });
    }
    case 'tell':
      return change({ guidance: [...state.control.guidance, { id, text: control.text }] });
    case 'set':
      return { ...heard, policy: { ...state.policy, limits: { ...state.policy.limits, ...control.limits } } };
  }
}

/** What was under way when the first request came may finish; a request for now is never taken back. */
function request(state: LoopState, now: boolean, by: StopRequest['by']): StopRequest {
  const earlier = state.control.stop;
  if (earlier !== null) return { ...earlier, now: earlier.now || now };
  return { by, now, finishing: stepsInFlight(state) };
}

/** A person wants it to go on: old counters must not end it again at once, and what was cut short is done again. */
function reopen(state: LoopState): LoopState {
  const reopened: LoopState = {
    ...state,
    outcome: null,
    failures: { ...state.failures, consecutive: 0 },
    rung: 0,
    progress: { ...state.progress, unchanged: 0 },
    control: { ...state.control, paused: false, stop: null, signals: 0 },
  };
  const { run } = state.turn;
  if (run === null) return { ...reopened, turn: { ...state.turn, ...UNCHECKED, before: null } };
  if (run.ended?.as === 'fatal' || retriesSameIteration(run)) return runAgain(reopened);
  return state.outcome?.type === 'stopped' ? reopened : closeTurn(reopened, run);
}

function baseline({ progress }: LoopState, fingerprint: string | null): LoopState['progress'] {
  return progress.fingerprint === null ? { ...progress, fingerprint } : progress;
}

function snapshot({
  offset,
  tokens,
  cost,
  steps,
  claim,
  claimEndsRun,
  limit,
}: OutputSnapshot): OutputSnapshot {
  return { offset, tokens, cost, steps, claim, claimEndsRun, limit };
}

const NO_OUTPUT: OutputSnapshot = {
  offset: 0,
  tokens: null,
  cost: null,
  steps: 0,
  claim: null,
  claimEndsRun: false,
  limit: null,
};

/** A control that is delivered twice is delivered twice soon. */
const REMEMBERED_CONTROLS = 100;

const UNCHECKED = { checksStarted: false, checks: [], claim: null } as const;

const FIRST_TURN: Turn = {
  ...UNCHECKED,
  iteration: 1,
  started: false,
  runs: 0,
  before: null,
  run: null,
  after: null,
  messageRun: null,
  committed: false,
  checkpointed: false,
  childrenTimedOut: false,
  at: 0,
};

/** Before anything has happened. */
export const INITIAL: LoopState = {
  created: false,
  name: '',
  policy: presets.default.policy,
  now: 0,
  activeMs: 0,
  outcome: null,
  iteration: 0,
  turn: FIRST_TURN,
  failures: { consecutive: 0, total: 0 },
  rung: 0,
  spent: {
    tokens: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    usd: 0,
    source: null,
    unknownRuns: 0,
  },
  progress: { fingerprint: null, checks: null, unchanged: 0 },
  feedback: { failed: [], error: null },
  control: { paused: false, stop: null, guidance: [], seen: [], signals: 0 },
  children: [],
  everStarted: false,
};
