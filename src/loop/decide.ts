/**
 * The heart of the program: what should be going on now, given all that has happened.
 *
 * Pure. It knows no clock, no file and no process; the driver makes it so and journals what came of it. Recovery
 * is the same question asked again. Presets choose values in it and never another way through it.
 *
 *   control → baseline → done already? → limits → prompt → run → classify → checks → claim against evidence
 *           → commit → checkpoint → done? → limits → wait → control → …
 *
 * Invariants, held by `test/simulation`:
 *   L1  No more iterations are started than the limit allows.
 *   L2  Nothing is wanted after the end, and after `loop.ended` only `loop.reopened` is accepted.
 *   L3  `done` needs an accepted claim and, unless the claim alone is asked for, checks that all passed after the last
 *       work run; every run that did its turn is checked, and a claim is rejected only by a red check.
 *   L4  Every run that was planned ends exactly once, and while one is open no other is planned.
 *   L5  The fold of the journal is the live state, at every index.
 *   L6  Whatever is carried out or delivered twice counts once.
 *   L7  Spending passes its limit by no more than one run.
 *   L8  A pause takes effect before the next run, a stop before the next step.
 *   L9  A wait is never cut short, except by control, another policy and the end of the loop's own time.
 *   L10 The loop ends, or waits for something that has a name: something is always wanted or in flight.
 *   L11 Asking twice wants the same.
 *   L12 What a usage limit, an outage or the driver cuts short is charged neither as an iteration nor as a failure.
 *   L13 Only green work is committed, all of it is, and nobody is asked for a message where nothing can be committed.
 */
import { openClaim } from './claim.ts';
import { isCommit } from './words.ts';
import type { Phase } from './completion.ts';
import type { Effect, MessageSource } from './effect.ts';
import type { Happening, Purpose } from './event.ts';
import { fatalOutcome } from './failure.ts';
import { deadline, exhausted, notPastDeadline, progressAfter, spentUp, waitAfter } from './limits.ts';
import type { Outcome } from './outcome.ts';
import { COMMIT_MESSAGE_PLAN, guidanceFor, planPrompt } from './prompt-plan.ts';
import type { PromptPlan } from './prompt.ts';
import { didItsTurn, hasClaimed, isCutShort, openRun } from './run.ts';
import type { LoopState, Run } from './state.ts';

/** The effects that are wanted now, each with a stable key. */
export function decide(state: LoopState): readonly Effect[] {
  const known = answers.get(state);
  if (known !== undefined) return known;
  const answer = wantedIn(state);
  answers.set(state, answer);
  return answer;
}

/** The same question has the same answer (L11), and it is asked several times for every event. */
const answers = new WeakMap<LoopState, readonly Effect[]>();

function wantedIn(state: LoopState): readonly Effect[] {
  if (!state.created || state.outcome !== null) return [];
  const open = openRun(state);
  // While a run is open nothing else is wanted, and if not even that is, the driver has to end it.
  const wanted = nextStep(state).filter(({ key }) => open === null || key === `run:${open.id}`);
  const { stop } = state.control;
  if (stop === null) return wanted;
  const finishing = stop.now ? [] : wanted.filter(({ key }) => stop.finishing.includes(key));
  if (finishing.length > 0 || open !== null) return finishing;
  return end(stop.abort ?? { type: 'stopped', by: stop.by });
}

/** One turn, top to bottom: the first thing that has not happened yet is what is wanted. */
function nextStep(state: LoopState): Effects {
  const { policy, turn, control } = state;
  const { run } = turn;

  if (run === null) {
    if (control.paused) return [{ type: 'rest', key: 'rest' }];
    return (
      takeBaseline(state) ??
      lookAround(state, 'before') ??
      runChecks(state) ??
      judgeClaim(state) ??
      finish(state) ??
      endBecause(exhausted(state)) ??
      startIteration(state) ??
      sitOut(state) ??
      work(state)
    );
  }
  if (run.ended === null) return mayGoOn(state, run) ? work(state) : [];
  if (run.ended.as === 'fatal') return end(fatalOutcome(run.ended.ending, state.everStarted));
  if (isCutShort(run.ended.as)) {
    return endBecause(exhausted(state)) ?? endBecause(unserved(state)) ?? waitOrRest(state, run);
  }
  return (
    lookAround(state, 'after') ??
    runChecks(state) ??
    judgeClaim(state) ??
    commit(state) ??
    checkpoint(state) ??
    finish(state) ??
    handOver(state, run) ??
    endBecause(tooManyFailures(state)) ??
    endBecause(stuck(state)) ??
    endBecause(policy.limits.lookedAt === 'after-iteration' ? exhausted(state) : null) ??
    waitOrRest(state, run)
  );
}

type Effects = readonly Effect[];

/** The steps that are under way and that a graceful stop lets finish; a run only once it is there. */
export function stepsInFlight(state: LoopState): readonly string[] {
  const mayFinish = new Set(['check', 'commit', 'checkpoint', ...(openRun(state)?.receipt ? ['run'] : [])]);
  return nextStep(state).flatMap(({ type, key }) => (mayFinish.has(type) ? [key] : []));
}

/** Markers, messages and the fingerprint of the tree, where the policy wants to know them. */
function lookAround(state: LoopState, phase: Phase): Effects | undefined {
  const { policy, turn, progress } = state;
  const found = turn[phase];
  if (found !== null)
    return found.problem === null ? undefined : end({ type: 'fatal', message: found.problem });

  const isAfter = phase === 'after';
  const { detectors, handOver: ask } = policy.completion;
  const signs = detectors.filter((detector) => 'phases' in detector && detector.phases.includes(phase));
  const markers = signs.flatMap((sign) => (sign.kind === 'marker' ? [sign.file] : []));
  if (isAfter && ask.marker !== null) markers.push(ask.marker);
  const messages = signs.some(({ kind }) => kind === 'bus-message') || (isAfter && ask.busMessage !== null);
  const fingerprint = policy.limits.unchanged !== null && (isAfter || progress.fingerprint === null);
  if (markers.length === 0 && !messages && !fingerprint) return undefined;
  const key = `probe:${turn.run?.id ?? nextRunId(state)}:${phase}`;
  return [{ type: 'probe', key, phase, markers, messages, fingerprint }];
}

/** What is red before the first iteration: told to the agent and at the end, and evidence for nothing. */
function takeBaseline({ policy, iteration, baseline }: LoopState): Effects | undefined {
  const { baseline: isWanted, commands, timeoutMs } = policy.checks;
  const index = baseline.length;
  const check = commands[index];
  if (!isWanted || iteration > 0 || check === undefined) return undefined;
  return [{ type: 'check', key: `check:0.${index + 1}`, iteration: 0, run: null, index, check, timeoutMs }];
}

/** All checks, in their order, after a run that did its turn, and wherever a claim waits for evidence. */
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

function wantsChecks(state: LoopState): boolean {
  const { until, afterFailure } = state.policy.completion;
  const as = state.turn.run?.ended?.as;
  if (state.policy.checks.commands.length === 0) return false;
  if (didItsTurn(as)) return true;
  if (until === 'checks') return as === 'failure' && afterFailure === 'consider';
  return until === 'both' && openClaim(state) !== null;
}

function checksPassed({ policy, turn }: LoopState): boolean {
  return policy.checks.commands.every((_, index) => turn.checks[index]?.code === 0);
}

/** A claim is opened by a detector, and accepted or rejected by evidence. */
function judgeClaim(state: LoopState): Effects | undefined {
  const { policy, turn } = state;
  const { until } = policy.completion;
  const { commands } = policy.checks;
  const { iteration, claim } = turn;
  const run = turn.run?.id ?? null;
  const passed = checksPassed(state);
  if (claim === null) {
    const green = run !== null && passed ? GREEN : null;
    const made = until === 'checks' ? green : openClaim(state);
    return made === null
      ? undefined
      : record(`claim:${iteration}`, { type: 'claim.made', iteration, run, claim: made });
  }
  if (claim.verdict !== 'open') return undefined;
  const key = `verdict:${iteration}`;
  if (until === 'claim' || passed) {
    return record(key, { type: 'claim.accepted', iteration, run, verified: passed && commands.length > 0 });
  }
  const failed = commands.flatMap(({ command }, index) => (turn.checks[index]?.code === 0 ? [] : [command]));
  // A marker that was rejected must not claim again by merely lying there.
  return record(
    key,
    { type: 'claim.rejected', iteration, run, failed },
    claim.by === 'marker' ? [claim.text] : [],
  );
}

const GREEN = { by: 'checks', text: 'every check passed' } as const;

/** The work of an iteration whose checks passed goes to the version control, with a message by whom the policy says. */
function commit(state: LoopState): Effects | undefined {
  const { policy, turn } = state;
  const { iteration, messageRun } = turn;
  if (policy.commit === null || policy.commit.tasks.length === 0 || turn.committed) return undefined;
  const hasWork = didItsTurn(turn.run?.ended?.as) || turn.claim?.verdict === 'accepted';
  if (!hasWork || !checksPassed(state)) return undefined;
  const key = `commit:${iteration}`;
  if (policy.commit.tasks.some(isCommit)) {
    const { changes } = turn;
    // Nobody is asked for the message of a commit that cannot be made.
    if (changes === null) {
      return [{ type: 'changes', key: `changes:${iteration}`, iteration, commit: policy.commit }];
    }
    const { any, committed, error } = changes;
    if (error !== null || (!any && committed !== true)) {
      return record(key, { type: 'commit.made', iteration, commit: null, done: [], error });
    }
    if (!any) return [{ type: 'commit', key, iteration, message: 'committed', commit: policy.commit }];
    // Out of money the agent is not asked; the work is committed with a plain message.
    const asks = policy.commit.message !== 'plain' && (messageRun !== null || spentUp(state) === null);
    if (asks && (messageRun === null || messageRun.ended === null)) {
      return messageRun === null || mayGoOn(state, messageRun) ? askForMessage(state) : [];
    }
  }
  return [{ type: 'commit', key, iteration, message: messageFrom(messageRun), commit: policy.commit }];
}

/** An agent that was cut short may be excused; one that had its say and said nothing may not. */
function messageFrom(run: Run | null): MessageSource {
  if (run === null || isCutShort(run.ended?.as)) return 'plain';
  return run.ended?.as === 'ok' ? { run: run.id } : 'missing';
}

function checkpoint({ policy, turn }: LoopState): Effects | undefined {
  const { iteration } = turn;
  if (!policy.checkpoint || turn.checkpointed) return undefined;
  return [{ type: 'checkpoint', key: `checkpoint:${iteration}`, iteration }];
}

/** An accepted claim ends the loop, once its children are done or have taken too long. */
function finish({ policy, turn, children }: LoopState): Effects | undefined {
  if (turn.claim?.verdict !== 'accepted') return undefined;
  if (policy.children === null || children.length === 0 || turn.childrenTimedOut) {
    return end({ type: 'done', verified: turn.claim.verified, childrenLeft: children });
  }
  const { waitMs, pollMs } = policy.children;
  return [{ type: 'children', key: 'children', children, until: turn.at + waitMs, pollMs }];
}

/** The agent wants a person to look: by its exit code, a file or a message. */
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

/** A provider that has not answered for about a day does not wait for us. */
function unserved({ outages }: LoopState): Outcome | null {
  return outages < MOST_OUTAGES ? null : { type: 'failures-exhausted', failures: outages };
}

const MOST_OUTAGES = 300;

function stuck(state: LoopState): Outcome | null {
  const limit = state.policy.limits.unchanged;
  if (limit === null || !didItsTurn(state.turn.run?.ended?.as)) return null;
  const { unchanged } = progressAfter(state);
  return unchanged >= limit.end ? { type: 'stuck', unchanged } : null;
}

function startIteration({ turn: { iteration, started } }: LoopState): Effects | undefined {
  return started ? undefined : record(`iteration:${iteration}`, { type: 'iteration.started', iteration });
}

/** Other loops of the account have met its limit: there is no need to run into it too. */
function sitOut(state: LoopState): Effects | undefined {
  const { sharedLimit } = state.turn;
  if (sharedLimit === null) return undefined;
  const until = notPastDeadline(state, sharedLimit.until);
  return [{ type: 'wait', key: `wait:${nextRunId(state)}:shared-limit`, until, why: 'usage-limit' }];
}

/** A running agent goes on unless its claim is what was waited for, or it has used up what the loop may use. */
function mayGoOn(state: LoopState, run: Run): boolean {
  if (hasClaimed(run.output)) return false;
  // One that says it has finished is only on its way out; what it did is to be judged like any other.
  return run.output.said !== null || !state.policy.limits.stopRunning || spentUp(state) === null;
}

function work(state: LoopState): Effects {
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

/** Every turn is closed by a wait, also by one of no length; a paused loop does not sit out a usage limit. */
function waitOrRest(state: LoopState, run: Run): Effects {
  const { until, why } = waitAfter(state, run);
  if (state.control.paused && why === 'usage-limit') return [{ type: 'rest', key: 'rest' }];
  return [{ type: 'wait', key: `wait:${run.id}`, until, why }];
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
