/**
 * The core: which effects should be in progress now, given everything that has happened.
 *
 * Pure: no clock, no files, no processes. The driver carries out the effects, appends what happened to the journal and
 * asks again. Recovery after a crash is the same question asked again. Presets set values; the path is the same for all.
 *
 * The order of one iteration:
 *   control → baseline → already done? → limits → answered? → prompt → run → classify → evidence as at the start? → checks
 *           → claim against evidence → commit → checkpoint → done? → limits → wait → control → …
 *
 * Invariants, verified by `test/simulation`:
 *   L1  The loop never starts more iterations than its limit allows.
 *   L2  An ended loop wants no effects, and after `loop.ended` it accepts only `loop.reopened`.
 *   L3  `done` needs an accepted claim and, unless the policy asks for the claim alone, checks that all passed after the
 *       last work run, and after an end that was not confirmed once more. Every run that produced work is checked. Only a failed check rejects a claim, a failed run
 *       whose claim no check can confirm, or L14.
 *   L4  Every planned run ends exactly once, and no other run is planned while one is open.
 *   L5  Folding the journal gives the live state, at every index.
 *   L6  An effect that is carried out twice, or an event that is delivered twice, counts once.
 *   L7  Spending exceeds its limit by at most one run, and by one of each living loop where others count towards it (L18). A run of unknown usage counts as the dearest known run; without a
 *       known run, a limited loop ends after two of them.
 *   L8  A pause takes effect before the next run, a stop before the next step.
 *   L9  Only a control, a changed policy or the loop's own time limit shortens a wait.
 *   L10 The loop ends, or waits for something that has a name: some effect is always wanted or in flight.
 *   L11 `decide` is deterministic: the same state gives the same effects.
 *   L12 A run that a usage limit, an outage or the driver cut short counts neither as an iteration nor as a failure.
 *   L13 Only work that passed its checks is committed, all of it is, and the agent is asked for a commit message only if
 *       there is something to commit.
 *   L14 A loop that watches its evidence examines it after every run and before it judges a claim. Unless the policy only
 *       warns, it accepts no claim while a protected file differs from the start.
 *   L15 While a question is open, no work run starts. Only a person's answer closes it, or its default once that is due.
 *   L16 An iteration makes no progress if its run changed no file and no check had a new result; what checks and commits
 *       write does not count.
 *   L17 The loop says when 80 % of a limit of cost, tokens or time is used: also while a run is open, and once per limit.
 *   L18 What a loop spends counts towards the limits of every loop above it. No loop plans a run, and none that stops its runs lets one
 *       go on, once the ledger of its family says that a limit of it or of a loop above is reached (`family.ts`). As long as no usage
 *       is known, no loop below a limit plans a run after two of unknown usage.
 *   L19 The loop waits for a usage limit at most as often as its policy allows; the next one ends it.
 */
import { allBlocked, planToProbe } from './attempts.ts';
import { claimingMarkers, neededEvidence, openClaim } from './claim.ts';
import { isCommit } from './words.ts';
import type { Phase } from './completion.ts';
import type { Effect, MessageSource } from './effect.ts';
import type { Happening, Purpose } from './event.ts';
import { examineEvidence, rejectingFiles } from './evidence.ts';
import { fatalOutcome, refusedForGood } from './failure.ts';
import {
  capAtDeadline,
  deadline,
  exhausted,
  resetsTooLate,
  spendingExhausted,
  statedReset,
  tooManyLimitWaits,
  tooManyOutages,
  waitAfter,
} from './limits.ts';
import type { Outcome } from './outcome.ts';
import { noticeUnchanged, withNotices } from './limit-notices.ts';
import { mayHaveChanged, needsTree, stuck, watchesProgress, repeating, watchesTree } from './progress.ts';
import { COMMIT_MESSAGE_PLAN, guidanceFor, planPrompt } from './prompt-plan.ts';
import type { PromptPlan } from './prompt.ts';
import { awaitAnswer } from './questions.ts';
import { endsByClaim, isCutShort, openRun, producedWork } from './run.ts';
import type { LoopState, Run } from './state.ts';

/** The effects that are wanted now, each with a stable key. */
export function decide(state: LoopState): readonly Effect[] {
  const known = answers.get(state);
  if (known !== undefined) return known;
  const answer = wantedEffects(state);
  answers.set(state, answer);
  return answer;
}

/** Caches the answer per state (L11): the driver asks several times for every event. */
const answers = new WeakMap<LoopState, readonly Effect[]>();

function wantedEffects(state: LoopState): readonly Effect[] {
  if (!state.created || state.outcome !== null) return [];
  const open = openRun(state);
  // While a run is open, no other step may be wanted; if the run is not wanted either, the driver ends it.
  const wanted = nextStep(state).filter(({ key }) => open === null || key === `run:${open.id}`);
  const { stop } = state.control;
  if (stop === null) return withNotices(state, wanted);
  const finishing = stop.now ? [] : wanted.filter(({ key }) => stop.finishing.includes(key));
  if (finishing.length > 0 || open !== null) return finishing;
  return end(
    stop.abort ?? { type: 'stopped', by: stop.by, ...(stop.signal === null ? {} : { signal: stop.signal }) },
  );
}

/** Each step gives the effects that it still needs, or undefined once it is finished; the first unfinished one decides. */
function nextStep(state: LoopState): Effects {
  const { policy, turn, control } = state;
  const { run } = turn;

  // Before the run.
  if (run === null) {
    if (control.paused) return [{ type: 'rest', key: 'rest' }];
    return (
      runBaseline(state) ??
      probe(state, 'before') ??
      examineEvidence(state) ??
      runChecks(state) ??
      judgeClaim(state) ??
      keepCutShortWork(state) ??
      endWhenDone(state) ??
      endBecause(exhausted(state) ?? allBlocked(state)) ??
      awaitAnswer(state) ??
      startIteration(state) ??
      waitForSharedLimit(state) ??
      runAgent(state)
    );
  }
  // During the run.
  if (run.ended === null) return mayContinue(state, run) ? runAgent(state) : [];
  // After a run that a retry cannot fix, or that is not charged.
  if (run.ended.as === 'fatal') return end(fatalOutcome(run.ended.ending, state.everStarted));
  if (isCutShort(run.ended.as)) {
    return endBecause(exhausted(state)) ?? endBecause(tooManyOutages(state)) ?? waitOrRest(state, run);
  }
  // After any other run.
  return (
    probe(state, 'after') ??
    examineEvidence(state) ??
    runChecks(state) ??
    judgeClaim(state) ??
    commit(state) ??
    checkpoint(state) ??
    endWhenDone(state) ??
    handOver(state, run) ??
    endBecause(refusedForGood(state)) ??
    endBecause(tooManyFailures(state)) ??
    endBecause(stuck(state) ?? repeating(state)) ??
    noticeUnchanged(state) ??
    endBecause(policy.limits.lookedAt === 'after-iteration' ? exhausted(state) : null) ??
    waitOrRest(state, run)
  );
}

type Effects = readonly Effect[];

/** The keys of the steps that a graceful stop lets finish; a run is one of them only once its process exists. */
export function stepsInFlight(state: LoopState): readonly string[] {
  const mayFinish = new Set(['check', 'commit', 'checkpoint', ...(openRun(state)?.receipt ? ['run'] : [])]);
  return nextStep(state).flatMap(({ type, key }) => (mayFinish.has(type) ? [key] : []));
}

/** Looks for marker files, messages and changes of the tree, where the policy needs them; a broken marker is fatal. */
function probe(state: LoopState, phase: Phase): Effects | undefined {
  const { policy, turn } = state;
  const found = turn[phase];
  if (found !== null)
    return found.problem === null ? undefined : end({ type: 'fatal', message: found.problem });

  const isAfter = phase === 'after';
  const { detectors, handOver: request } = policy.completion;
  const probed = detectors.filter((detector) => 'phases' in detector && detector.phases.includes(phase));
  const markers = probed.flatMap((detector) => (detector.kind === 'marker' ? [detector.file] : []));
  if (isAfter && request.marker !== null) markers.push(request.marker);
  const messages =
    probed.some(({ kind }) => kind === 'bus-message') || (isAfter && request.busMessage !== null);
  const fingerprint = watchesProgress(state) && (isAfter || needsTree(state));
  if (markers.length === 0 && !messages && !fingerprint && policy.plan === null) return undefined;
  const key = `probe:${turn.run?.id ?? nextRunId(state)}:${phase}`;
  const seen = { messages, messagesAfter: state.messages.probed, plan: planToProbe(state) };
  return [{ type: 'probe', key, phase, iteration: turn.iteration, markers, fingerprint, ...seen }];
}

/** Checks once before the first iteration, to show the agent and the final report what failed already; no evidence. */
function runBaseline({ policy, iteration, baseline }: LoopState): Effects | undefined {
  const { baseline: isWanted, commands, timeoutMs } = policy.checks;
  const index = baseline.length;
  const check = commands[index];
  if (!isWanted || iteration > 0 || check === undefined) return undefined;
  return [{ type: 'check', key: `check:0.${index + 1}`, iteration: 0, run: null, index, check, timeoutMs }];
}

/** All checks in order, after a run that produced work and wherever an open claim needs evidence. */
function runChecks(state: LoopState): Effects | undefined {
  const { policy, turn } = state;
  const { iteration } = turn;
  const run = turn.run?.id ?? null;
  if (!wantsChecks(state)) return undefined;
  if (!turn.checksStarted) return record(`checks:${iteration}`, { type: 'checks.started', iteration, run });
  const index = turn.checks.indexOf(null);
  const check = policy.checks.commands[index];
  if (check === undefined) return undefined;
  const { timeoutMs } = policy.checks;
  return [{ type: 'check', key: `check:${iteration}.${index + 1}`, iteration, run, index, check, timeoutMs }];
}

/** Whether the checks run in this turn. */
export function wantsChecks(state: LoopState): boolean {
  const { until, afterFailure } = state.policy.completion;
  const as = state.turn.run?.ended?.as;
  if (state.policy.checks.commands.length === 0) return false;
  if (producedWork(as)) return true;
  if (until === 'checks') return as === 'failure' && afterFailure !== 'ignore';
  return neededEvidence(state) === 'checks' && openClaim(state) !== null;
}

function checksPassed({ policy, turn }: LoopState): boolean {
  return policy.checks.commands.every((_, index) => turn.checks[index]?.code === 0);
}

/** A detector opens a claim; the evidence accepts or rejects it. A rejected marker is moved aside: it must not claim again. */
function judgeClaim(state: LoopState): Effects | undefined {
  const { policy, turn } = state;
  const { until } = policy.completion;
  const { commands } = policy.checks;
  const { iteration, claim } = turn;
  const run = turn.run?.id ?? null;
  const passed = checksPassed(state);
  if (claim === null) {
    const byChecks = run !== null && passed ? ({ by: 'checks', text: 'every check passed' } as const) : null;
    const made = until === 'checks' ? byChecks : openClaim(state);
    return made === null
      ? undefined
      : record(`claim:${iteration}`, { type: 'claim.made', iteration, run, claim: made });
  }
  if (claim.verdict !== 'open') return undefined;
  const key = `verdict:${iteration}`;
  const rejected = { type: 'claim.rejected', iteration, run } as const;
  const needed = claim.by === 'checks' ? 'checks' : neededEvidence(state);
  if (needed === 'never') {
    return record(key, { ...rejected, failed: [], because: 'run-failed' }, claimingMarkers(state));
  }
  const failed = commands.flatMap(({ command }, index) => (turn.checks[index]?.code === 0 ? [] : [command]));
  const files = rejectingFiles(state);
  if (files !== null) {
    const why = { failed, because: 'protected-change', files } as const;
    return record(key, { ...rejected, ...why }, claimingMarkers(state));
  }
  if (needed === 'none' || passed) {
    return record(key, { type: 'claim.accepted', iteration, run, verified: passed && commands.length > 0 });
  }
  return record(key, { ...rejected, failed }, claimingMarkers(state));
}

/** Commits the work of an iteration whose checks passed, with a message by the agent or a plain one. */
function commit(state: LoopState): Effects | undefined {
  const { policy, turn } = state;
  const { iteration, messageRun } = turn;
  if (policy.commit === null || policy.commit.tasks.length === 0 || turn.committed) return undefined;
  const hasWork = producedWork(turn.run?.ended?.as) || turn.claim?.verdict === 'accepted';
  if (!hasWork || !checksPassed(state)) return undefined;
  const key = `commit:${iteration}`;
  if (policy.commit.tasks.some(isCommit)) {
    const { changes } = turn;
    // Asking the agent for the message of a commit that cannot be made would waste a run.
    if (changes === null) {
      return [{ type: 'changes', key: `changes:${iteration}`, iteration, commit: policy.commit }];
    }
    const { any, committed, error } = changes;
    if (error !== null || (!any && committed !== true)) {
      return record(key, { type: 'commit.made', iteration, commit: null, done: [], error });
    }
    if (!any) return [{ type: 'commit', key, iteration, message: 'committed', commit: policy.commit }];
    // Once a spending limit is reached, the work is committed with a plain message instead of another run.
    const asks =
      policy.commit.message !== 'plain' && (messageRun !== null || spendingExhausted(state) === null);
    if (asks && (messageRun === null || messageRun.ended === null)) {
      return messageRun === null || mayContinue(state, messageRun) ? askForMessage(state) : [];
    }
  }
  return [{ type: 'commit', key, iteration, message: messageFrom(messageRun), commit: policy.commit }];
}

/** A message run that was cut short gives a plain message; one that completed without a message is an error. */
function messageFrom(run: Run | null): MessageSource {
  if (run === null || isCutShort(run.ended?.as)) return 'plain';
  return run.ended?.as === 'ok' ? { run: run.id } : 'missing';
}

function checkpoint(state: LoopState): Effects | undefined {
  const { policy, turn } = state;
  const { iteration } = turn;
  if (!policy.checkpoint || turn.checkpointed) return undefined;
  const fingerprint = (watchesProgress(state) && mayHaveChanged(turn)) || watchesTree(state);
  return [{ type: 'checkpoint', key: `checkpoint:${iteration}`, iteration, fingerprint }];
}

/** A marker of a run that was cut short may complete the loop; its work is committed like that of any other run. */
function keepCutShortWork(state: LoopState): Effects | undefined {
  const { runs, claim } = state.turn;
  if (runs === 0 || claim?.verdict !== 'accepted') return undefined;
  return commit(state) ?? checkpoint(state);
}

/** An accepted claim ends the loop once its child loops have ended or timed out. */
function endWhenDone({ policy, turn, children }: LoopState): Effects | undefined {
  if (turn.claim?.verdict !== 'accepted') return undefined;
  if (policy.children === null || children.length === 0 || turn.childrenTimedOut) {
    return end({ type: 'done', verified: turn.claim.verified, childrenLeft: children });
  }
  const { waitMs, pollMs } = policy.children;
  return [{ type: 'children', key: 'children', children, until: turn.at + waitMs, pollMs }];
}

/** The agent asked for a person by its exit code, a marker file or a message. */
function handOver({ policy, turn }: LoopState, run: Run): Effects | undefined {
  const { marker, busMessage } = policy.completion.handOver;
  const asked =
    run.ended?.as === 'wait' ||
    (marker !== null && turn.after?.markers.includes(marker) === true) ||
    (busMessage !== null && turn.after?.messages.includes(busMessage) === true);
  return asked ? end({ type: 'waiting' }) : undefined;
}

function tooManyFailures({ policy, failures, turn }: LoopState): Outcome | null {
  const limit = policy.limits.failures;
  if (turn.run?.ended?.as !== 'failure' || limit === null || failures.consecutive < limit) return null;
  return { type: 'failures-exhausted', failures: failures.consecutive };
}

function startIteration({ turn: { iteration, started } }: LoopState): Effects | undefined {
  return started ? undefined : record(`iteration:${iteration}`, { type: 'iteration.started', iteration });
}

/** Another loop of the account hit its usage limit: wait instead of hitting it again. */
function waitForSharedLimit(state: LoopState): Effects | undefined {
  const { sharedLimit } = state.turn;
  if (sharedLimit === null) return undefined;
  const { until, resetsAt } = sharedLimit;
  return waitForLimit(state, `wait:${nextRunId(state)}:shared-limit`, until, resetsAt);
}

/** A running agent continues until a continuous detector has its claim or a spending limit is reached. */
function mayContinue(state: LoopState, run: Run): boolean {
  if (endsByClaim(run.output)) return false;
  // An agent that has reported its end is about to exit; its work is judged like that of any other run.
  return run.output.said !== null || !state.policy.limits.stopRunning || spendingExhausted(state) === null;
}

function runAgent(state: LoopState): Effects {
  const { run } = state.turn;
  return [agentRun(state, run, 'work', planPrompt(state, run))];
}

function askForMessage(state: LoopState): Effects {
  return [agentRun(state, state.turn.messageRun, 'commit-message', COMMIT_MESSAGE_PLAN)];
}

function agentRun(state: LoopState, planned: Run | null, purpose: Purpose, plan: PromptPlan): Effect {
  const { limits, timeouts } = state.policy;
  const run = planned?.id ?? nextRunId(state);
  return {
    type: 'run',
    key: `run:${run}`,
    run,
    purpose,
    plan,
    guidance: purpose === 'work' ? guidanceFor(state, planned).map(({ id }) => id) : [],
    messagesAfter: state.messages.shown,
    plannedAt: planned?.plannedAt ?? null,
    timeoutMs: timeouts.runMs,
    inactivityMs: timeouts.inactivityMs,
    notAfter: limits.stopRunning ? deadline(state) : null,
    outputBytes: limits.outputBytes,
    killGraceMs: timeouts.killGraceMs,
    respectsSharedLimit: purpose === 'work' && !state.turn.ignoresSharedLimit,
  };
}

function nextRunId({ turn: { iteration, runs } }: LoopState): string {
  return `${iteration}.${runs + 1}`;
}

/** Every iteration ends with a wait, even one of 0 ms; a paused loop rests instead of waiting for a usage limit. */
function waitOrRest(state: LoopState, run: Run): Effects {
  const { until, why } = waitAfter(state, run);
  const key = `wait:${run.id}`;
  if (why !== 'usage-limit') return [{ type: 'wait', key, until: capAtDeadline(state, until), why }];
  if (state.control.paused) return [{ type: 'rest', key: 'rest' }];
  return waitForLimit(state, key, until, statedReset(state, run));
}

/** Waits for a usage limit, unless the loop's own time limit comes first or it has waited often enough. */
function waitForLimit(state: LoopState, key: string, until: number, resetsAt: number | null): Effects {
  return (
    endBecause(resetsTooLate(state, until, resetsAt) ?? tooManyLimitWaits(state, resetsAt)) ?? [
      { type: 'wait', key, until: capAtDeadline(state, until), why: 'usage-limit' },
    ]
  );
}

function endBecause(outcome: Outcome | null): Effects | undefined {
  return outcome === null ? undefined : end(outcome);
}

function end(outcome: Outcome): Effects {
  return record('end', { type: 'loop.ended', outcome });
}

function record(key: string, event: Happening, moveAside: readonly string[] = []): Effects {
  return [{ type: 'record', key, event, moveAside }];
}
