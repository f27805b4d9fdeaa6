/**
 * The fold: how an event changes the state. Nothing else writes state.
 *
 * 1. It trusts every event it reads: `admit.ts` judged the event when it was written.
 * 2. It handles every event type of this version; after the end it accepts only `loop.reopened`.
 * 3. The state does not grow with the number of iterations.
 */
import { attemptsAfter } from './attempts.ts';
import { chargesAfter, chargesAfterReopening } from './charge.ts';
import { applyControl } from './control.ts';
import { decide } from './decide.ts';
import { evidenceFeedback } from './evidence.ts';
import type { CheckResult, Happening, LoopEvent, OutputSnapshot } from './event.ts';
import { TIME_ALARM } from './limit-notices.ts';
import { failureText, isUnanswered, refusalAfter } from './failure.ts';
import { addRun, addTokens, NOTHING_SPENT, spread } from './limits.ts';
import { missedClaim } from './claim.ts';
import type { Check, Policy } from './policy.ts';
import { progressAfter, progressFrom, NO_REPEATS, repeatsAfter } from './progress.ts';
import { answerByDefault } from './questions.ts';
import { FIRST_TURN, judgeAgain, NO_EVIDENCE, runAgain } from './turn.ts';
import { INITIAL } from './initial.ts';
import { endsByClaim, isCutShort, NO_OUTPUT, openRun } from './run.ts';
import type { Feedback, JudgedClaim, LoopState, MessageMarks, Run, Turn } from './state.ts';

/** The state after an event. */
export function evolve(state: LoopState, event: LoopEvent): LoopState {
  if (!accepts(state, event)) return state;
  const now = Math.max(state.now, event.at);
  const isActive =
    state.created &&
    !isResting(state) &&
    (event.type !== 'owner.changed' || isInTurn(state)) &&
    event.type !== 'loop.reopened';
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

/** Whether a session is at work, which it is without an owner of its loop. */
function isInTurn(state: LoopState): boolean {
  return state.policy.host === 'session' && openRun(state) !== null;
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
      return { ...inTurn({}), created: true, name: event.name, policy: event.policy };
    case 'policy.changed':
      return changePolicy(state, event.policy);
    case 'start.recorded': {
      const { type: _, at: __, ...start } = event;
      return { ...state, start };
    }
    case 'owner.left':
      return state;
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
      const { phase, markers, problem, messages, fingerprint, plan } = event;
      const found = { markers, problem, messages, fingerprint, ...(plan === undefined ? {} : { plan }) };
      const probed = { ...inTurn({ [phase]: found }), messages: marked(state, 'probed', event.messagesUpTo) };
      return phase === 'before' ? { ...probed, progress: progressFrom(state.progress, fingerprint) } : probed;
    }
    case 'evidence.examined': {
      const { changed, more, protected: count, problem } = event;
      return inTurn({ evidence: { changed, more, protected: count, problem } });
    }
    case 'evidence.restored': {
      const { restored, more, failed, moreFailed } = event;
      return inTurn({ restoration: { restored, more, failed, moreFailed } });
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
      return inTurn({ checkpointed: true, recorded: event.fingerprint ?? null });
    case 'limit.shared': {
      const until = now + spread(event.resetsAt - now, event.jitter);
      const sharedLimit = { until, resetsAt: event.resetsAt, message: event.message };
      return { ...inTurn({ sharedLimit }), limitWaits: state.limitWaits + 1 };
    }
    case 'limit.neared':
      return { ...state, noticed: { ...state.noticed, [event.limit]: event.of } };
    case 'unchanged.noticed':
      return { ...state, noticed: { ...state.noticed, unchanged: event.unchanged } };
    case 'family.counted':
      return { ...state, family: { below: event.below, above: event.above } };
    case 'timer.fired':
      // It only lets the time pass.
      if (event.key === TIME_ALARM) return state;
      if (event.key === 'children') return { ...state, turn: { ...turn, childrenTimedOut: true } };
      if (event.key.startsWith('answer:')) return answerByDefault(state, event.key);
      return turn.run === null ? inTurn({ sharedLimit: null }) : closeTurn(state, turn.run);
    case 'child.started':
      return withChild(state, event.child, true);
    case 'child.ended':
      return withChild(state, event.child, false);
    case 'question.asked': {
      const { id, text, default: byDefault, timeoutMs } = event;
      const until = timeoutMs === null || byDefault === null ? null : now + timeoutMs;
      return {
        ...state,
        questions: [...state.questions, { id, text, default: byDefault, until }],
        messages: marked(state, 'asked', id),
      };
    }
    case 'control.received':
      return applyControl(state, event.id, event.control);
    case 'loop.ended':
      return { ...state, outcome: event.outcome };
    case 'loop.reopened':
      if (event.because !== undefined) return judgeAgain(state);
      return reopen(event.policy === null ? state : changePolicy(state, event.policy));
  }
}

function marked({ messages }: LoopState, mark: keyof MessageMarks, id: string | undefined): MessageMarks {
  return id === undefined ? messages : { ...messages, [mark]: id };
}

/** A child that has ended may be resumed, and then starts again. */
function withChild(state: LoopState, child: string, isActive: boolean): LoopState {
  const without = (ids: readonly string[]): readonly string[] => ids.filter((id) => id !== child);
  const children = without(state.children);
  const endedChildren = without(state.endedChildren);
  return isActive
    ? { ...state, children: [...children, child], endedChildren }
    : { ...state, children, endedChildren: [...endedChildren, child].slice(-KEPT_CHILDREN) };
}

/** More than can start and end between two looks at them. */
const KEPT_CHILDREN = 64;

function changePolicy(state: LoopState, policy: Policy): LoopState {
  const { completion, checks, evidence } = state.policy;
  const sameChecks = same(checks.commands, policy.checks.commands);
  const sameRules = same(completion, policy.completion) && same(evidence, policy.evidence);
  // Results of other checks are no evidence, and a claim that was judged by other rules is judged again.
  const turn = sameChecks && sameRules ? state.turn : { ...state.turn, ...NO_EVIDENCE };
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

function planRun(state: LoopState, event: Extract<Happening, { type: 'run.planned' }>): LoopState {
  const { run: id, purpose, guidance, prompt } = event;
  const run: Run = {
    id,
    purpose,
    plannedAt: state.now,
    receipt: null,
    prompt: prompt?.base ?? null,
    guidance,
    ...(prompt?.messagesUpTo === undefined ? {} : { messagesUpTo: prompt.messagesUpTo }),
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
  // Guidance and messages go into the next prompt again if no agent has read them or its run was cut short.
  const isRead = !isCutShort(as) && open.receipt !== null;
  const delivered = isRead ? open.guidance : [];
  return {
    ...closed,
    failures:
      as === 'failure'
        ? { consecutive: consecutive + 1, total: total + 1 }
        : { consecutive: as === 'ok' ? 0 : consecutive, total },
    refusal: as === 'ok' ? null : refusalAfter(state, open, ending),
    rung: as === 'usage-limit' ? state.rung + 1 : 0,
    limitWaits: state.limitWaits + (as === 'usage-limit' ? 1 : 0),
    outages: as === 'outage' ? state.outages + 1 : 0,
    unanswered: as === 'outage' && isUnanswered(ending) ? state.unanswered + 1 : 0,
    control: {
      ...state.control,
      guidance: state.control.guidance.filter(({ id }) => !delivered.includes(id)),
    },
    messages: isRead ? marked(state, 'shown', open.messagesUpTo) : state.messages,
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
    progress: progressAfter(state),
    attempts: attemptsAfter(state),
    repeats: repeatsAfter(state),
    feedback: feedbackOf(state, run),
  };
}

/** Check failures stay in the feedback until the checks run again; an error, a near miss or a rejection is reported once. */
function feedbackOf(state: LoopState, run: Run): Feedback {
  const { policy, turn, feedback } = state;
  const missed = missedClaim(state);
  const { evidence: before } = feedback;
  const evidence = turn.evidence === null ? before : evidenceFeedback(turn.evidence, turn.restoration);
  const failed = turn.checksStarted ? failedAmong(policy.checks.commands, turn.checks) : feedback.failed;
  const error = run.ended === null ? null : failureText(run.ended.ending, run.ended.as);
  return {
    failed,
    failedIn: turn.checksStarted ? turn.iteration : feedback.failedIn,
    error,
    errorOf: error === null ? null : run.id,
    ...(missed === null ? {} : { missed }),
    ...(turn.claim?.verdict === 'rejected' && failed.length > 0 ? { rejected: true } : {}),
    ...(evidence === null || evidence === undefined ? {} : { evidence }),
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

/** Resets the counters that would end the loop again at once, and repeats a run that was cut short. */
function reopen(state: LoopState): LoopState {
  const next = turnAfterReopening(state);
  return {
    ...next,
    outcome: null,
    failures: { ...next.failures, consecutive: 0 },
    refusal: null,
    rung: 0,
    limitWaits: 0,
    outages: 0,
    unanswered: 0,
    charges: chargesAfterReopening(next.charges),
    progress: { ...next.progress, unchanged: 0 },
    attempts: [],
    repeats: NO_REPEATS,
    control: { ...next.control, paused: false, stop: null, signals: 0 },
  };
}

function turnAfterReopening(state: LoopState): LoopState {
  const { run, after } = state.turn;
  if (run === null)
    return { ...state, turn: { ...state.turn, ...NO_EVIDENCE, before: null, sharedLimit: null } };
  if (run.ended === null || run.ended.as === 'fatal' || isCutShort(run.ended.as)) return runAgain(state);
  const isBroken = (after?.problem ?? null) !== null;
  // A stop, an abort or a broken marker ends the loop before the steps that its run is owed.
  const isOwed = state.control.stop !== null || isBroken;
  if (!isOwed && state.outcome?.type !== 'stopped') return closeTurn(state, run);
  // A person may have committed or discarded the changes meanwhile, and repaired the marker.
  return { ...state, turn: { ...state.turn, changes: null, after: isBroken ? null : after } };
}

/** The last snapshot wins, but the agent cannot take back a claim for which its run is being ended. */
function snapshot(event: OutputSnapshot, earlier: OutputSnapshot): OutputSnapshot {
  const { offset, complained, session, unknown, tokens, cost, outputEstimated, steps, said } = event;
  const { nearMiss, limit, unreachable, answer } = event;
  const { claim, claimEndsRun } = endsByClaim(earlier) ? earlier : event;
  const known = { offset, tokens, cost, steps, said, claim, claimEndsRun, limit };
  return {
    ...known,
    ...(outputEstimated === undefined ? {} : { outputEstimated }),
    ...(complained === undefined ? {} : { complained }),
    ...(session === undefined ? {} : { session }),
    ...(unknown === undefined ? {} : { unknown }),
    ...(nearMiss === undefined ? {} : { nearMiss }),
    ...(unreachable === undefined ? {} : { unreachable }),
    ...(answer === undefined ? {} : { answer }),
  };
}
