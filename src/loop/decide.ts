/**
 * The heart of the program: what should be going on now, given all that has happened.
 *
 * Pure. It knows no clock, no file and no process; the driver makes it so and journals what came of it. Recovery
 * is the same question asked again. Presets choose values in it and never another way through it.
 *
 *   control → done already? → limits → prompt → run → classify → checks → claim against evidence
 *           → commit → checkpoint → done? → limits → wait → control → …
 *
 * Invariants, held by `test/simulation`:
 *   L1  No more iterations are started than the limit allows.
 *   L2  Nothing is wanted after the end, and after `loop.ended` only `loop.reopened` is accepted.
 *   L3  `done` needs an accepted claim, and checks that all passed after the last run; every run that did its turn
 *       is checked, and a claim is rejected only by a red check.
 *   L4  Every run that was planned ends exactly once, and while one is open no other is planned.
 *   L5  The fold of the journal is the live state, at every index.
 *   L6  Whatever is carried out or delivered twice counts once.
 *   L7  Spending passes its limit by no more than one run.
 *   L8  A pause takes effect before the next run, a stop before the next step.
 *   L9  A wait is never cut short, except by control and by the end of the loop's own time.
 *   L10 The loop ends, or waits for something that has a name: something is always wanted or in flight.
 *   L11 Asking twice wants the same.
 *   L12 What a usage limit or the driver cuts short is charged neither as an iteration nor as a failure.
 */
import { openClaim } from './claim.ts';
import type { Phase } from './completion.ts';
import type { Effect } from './effect.ts';
import type { Happening } from './event.ts';
import { fatalOutcome } from './failure.ts';
import { deadline, exhausted, progressAfter, spentUp, waitAfter } from './limits.ts';
import type { Outcome } from './outcome.ts';
import { COMMIT_MESSAGE_PLAN, planPrompt } from './prompt-plan.ts';
import type { LoopState, Run } from './state.ts';

/** The effects that are wanted now, each with a stable key. */
export function decide(state: LoopState): readonly Effect[] {
  if (!state.created || state.outcome !== null) return [];
  const wanted = turn(state);
  const { stop } = state.control;
  if (stop === null) return wanted;
  const finishing = stop.now ? [] : wanted.filter(({ key }) => stop.finishing.includes(key));
  if (finishing.length > 0 || openRun(state) !== null) return finishing;
  return end({ type: 'stopped', by: stop.by });
}

/** The steps that are under way and that a graceful stop lets finish. */
export function stepsInFlight(state: LoopState): readonly string[] {
  return turn(state)
    .filter(
      ({ type }) =>
        type === 'check' || type === 'commit' || type === 'checkpoint' || (type === 'run' && openRun(state)),
    )
    .map(({ key }) => key);
}

/** The run that was planned and has not ended. */
export function openRun({ turn: { run, messageRun } }: LoopState): Run | null {
  if (run !== null && run.ended === null) return run;
  return messageRun !== null && messageRun.ended === null ? messageRun : null;
}

/** One turn, top to bottom: the first thing that has not happened yet is what is wanted. */
function turn(state: LoopState): readonly Effect[] {
  const {
    policy,
    turn: { run },
  } = state;

  if (run === null) {
    if (state.control.paused) return [{ type: 'rest', key: 'rest' }];
    return (
      lookAround(state, 'before') ??
      runChecks(state) ??
      judgeClaim(state) ??
      finish(state) ??
      endAtLimit(exhausted(state)) ??
      startIteration(state) ?? [work(state)]
    );
  }
  if (run.ended === null) return mayGoOn(state, run) ? [work(state)] : [];
  if (run.ended.as === 'fatal') return end(fatalOutcome(run.ended.ending, state.everStarted));
  if (run.ended.as === 'usage-limit' || run.ended.as === 'interrupted') {
    return endAtLimit(exhausted(state)) ?? waitOrRest(state, run);
  }
  return (
    lookAround(state, 'after') ??
    runChecks(state) ??
    judgeClaim(state) ??
    commit(state) ??
    checkpoint(state) ??
    finish(state) ??
    handOver(state, run) ??
    endAtLimit(tooManyFailures(state)) ??
    endAtLimit(stuck(state)) ??
    endAtLimit(policy.limits.lookedAt === 'after-iteration' ? exhausted(state) : null) ??
    waitOrRest(state, run)
  );
}

/** Markers, messages and the fingerprint of the tree, where the policy wants to know them. */
function lookAround(state: LoopState, phase: Phase): readonly Effect[] | undefined {
  const {
    policy,
    turn: { before, after },
    progress,
  } = state;
  const found = phase === 'before' ? before : after;
  if (found !== null)
    return found.problem === null ? undefined : end({ type: 'fatal', message: found.problem });

  const { detectors, handOver: asked } = policy.completion;
  const signs = detectors.filter((detector) => 'phases' in detector && detector.phases.includes(phase));
  const markers = signs.flatMap((sign) => (sign.kind === 'marker' ? [sign.file] : []));
  if (phase === 'after' && asked.marker !== null) markers.push(asked.marker);
  const messages =
    signs.some((sign) => sign.kind === 'bus-message') || (phase === 'after' && asked.busMessage !== null);
  const fingerprint =
    policy.limits.unchanged !== null && (phase === 'after' || progress.fingerprint === null);
  if (markers.length === 0 && !messages && !fingerprint) return undefined;
  return [{ type: 'probe', key: probeKey(state, phase), phase, markers, messages, fingerprint }];
}

function probeKey({ turn: { iteration, runs, run } }: LoopState, phase: Phase): string {
  return `probe:${iteration}.${run === null ? runs + 1 : runs}:${phase}`;
}

/** All checks, in their order, after a run that did its turn, and wherever a claim waits for evidence. */
function runChecks(state: LoopState): readonly Effect[] | undefined {
  const {
    policy,
    turn: { iteration, run, checksStarted, checks },
  } = state;
  if (!wantsChecks(state)) return undefined;
  if (!checksStarted)
    return record(`checks:${iteration}`, { type: 'checks.started', iteration, run: run?.id ?? null });
  const index = checks.indexOf(null);
  const check = policy.checks.commands[index];
  if (check === undefined) return undefined;
  const key = `check:${iteration}.${index + 1}`;
  return [
    { type: 'check', key, iteration, run: run?.id ?? null, index, check, timeoutMs: policy.checks.timeoutMs },
  ];
}

function wantsChecks(state: LoopState): boolean {
  const {
    policy,
    turn: { run },
  } = state;
  if (policy.checks.commands.length === 0) return false;
  if (run?.ended?.as === 'ok') return true;
  const { until, afterFailure } = policy.completion;
  if (until === 'checks') return run?.ended?.as === 'failure' && afterFailure === 'consider';
  return until === 'both' && openClaim(state) !== null;
}

function checksPassed({ policy, turn: { checks } }: LoopState): boolean {
  return policy.checks.commands.every((_, index) => checks[index]?.code === 0);
}

/** A claim is opened by a detector, and accepted or rejected by evidence. */
function judgeClaim(state: LoopState): readonly Effect[] | undefined {
  const {
    policy,
    turn: { iteration, run, claim, checks },
  } = state;
  const { until } = policy.completion;
  const at = { iteration, run: run?.id ?? null };
  const passed = checksPassed(state);
  if (claim === null) {
    const made = until === 'checks' ? (run !== null && passed ? GREEN : null) : openClaim(state);
    return made === null
      ? undefined
      : record(`claim:${iteration}`, { type: 'claim.made', ...at, claim: made });
  }
  if (claim.verdict !== 'open') return undefined;
  if (until === 'claim' || passed) {
    const verified = policy.checks.commands.length > 0 && passed;
    return record(`verdict:${iteration}`, { type: 'claim.accepted', ...at, verified });
  }
  const failed = policy.checks.commands.flatMap(({ command }, index) =>
    checks[index]?.code === 0 ? [] : [command],
  );
  return record(`verdict:${iteration}`, { type: 'claim.rejected', ...at, failed });
}

const GREEN = { by: 'checks', text: 'every check passed' } as const;

/** The work of an iteration whose checks passed goes to the version control, with a message by the agent. */
function commit(state: LoopState): readonly Effect[] | undefined {
  const {
    policy,
    turn: { iteration, run, messageRun, committed },
  } = state;
  if (policy.commit === null || committed || run?.ended?.as !== 'ok' || !checksPassed(state))
    return undefined;
  const ask = policy.commit.tasks.includes('commit') && (messageRun !== null || spentUp(state) === null);
  if (ask && (messageRun === null || messageRun.ended === null)) {
    return messageRun !== null && !mayGoOn(state, messageRun) ? [] : [askForMessage(state)];
  }
  return [
    {
      type: 'commit',
      key: `commit:${iteration}`,
      iteration,
      messageRun: messageRun?.id ?? null,
      commit: policy.commit,
    },
  ];
}

function checkpoint({ policy, turn: { iteration, checkpointed } }: LoopState): readonly Effect[] | undefined {
  return policy.checkpoint && !checkpointed
    ? [{ type: 'checkpoint', key: `checkpoint:${iteration}`, iteration }]
    : undefined;
}

/** An accepted claim ends the loop, once its children are done or have taken too long. */
function finish(state: LoopState): readonly Effect[] | undefined {
  const {
    policy,
    children,
    turn: { claim, childrenTimedOut },
  } = state;
  if (claim?.verdict !== 'accepted') return undefined;
  if (policy.children !== null && children.length > 0 && !childrenTimedOut) {
    const until = state.turn.at + policy.children.waitMs;
    return [{ type: 'children', key: 'children', children, until, pollMs: policy.children.pollMs }];
  }
  return end({ type: 'done', verified: claim.verified, childrenLeft: children });
}

/** The agent wants a person to look: by its exit code, a file or a message. */
function handOver({ policy, turn: { after } }: LoopState, run: Run): readonly Effect[] | undefined {
  const { marker, busMessage } = policy.completion.handOver;
  const asked =
    run.ended?.as === 'wait' ||
    (marker !== null && after?.markers.includes(marker) === true) ||
    (busMessage !== null && after?.messages.includes(busMessage) === true);
  return asked ? end({ type: 'waiting' }) : undefined;
}

function tooManyFailures({ policy, failures, turn: { run } }: LoopState): Outcome | null {
  const { consecutive } = failures;
  if (run?.ended?.as !== 'failure' || policy.limits.failures === null || consecutive < policy.limits.failures)
    return null;
  return { type: 'failures-exhausted', failures: consecutive };
}

function stuck(state: LoopState): Outcome | null {
  const { unchanged: limit } = state.policy.limits;
  if (limit === null || state.turn.run?.ended?.as !== 'ok') return null;
  const { unchanged } = progressAfter(state);
  return unchanged >= limit.end ? { type: 'stuck', unchanged } : null;
}

function startIteration({ turn: { iteration, started } }: LoopState): readonly Effect[] | undefined {
  return started ? undefined : record(`iteration:${iteration}`, { type: 'iteration.started', iteration });
}

function mayGoOn(state: LoopState, run: Run): boolean {
  if (run.output.claim !== null && run.output.claimEndsRun) return false;
  return !state.policy.limits.stopRunning || spentUp(state) === null;
}

function work(state: LoopState): Effect {
  return agentRun(state, state.turn.run, 'work');
}

function askForMessage(state: LoopState): Effect {
  return agentRun(state, state.turn.messageRun, 'commit-message');
}

function agentRun(state: LoopState, run: Run | null, purpose: Run['purpose']): Effect {
  const { policy } = state;
  const id = run?.id ?? nextRunId(state);
  return {
    type: 'run',
    key: `run:${id}`,
    run: id,
    purpose,
    plan: purpose === 'work' ? planPrompt(state, run) : COMMIT_MESSAGE_PLAN,
    timeoutMs: policy.timeouts.runMs,
    inactivityMs: policy.timeouts.inactivityMs,
    notAfter: policy.limits.stopRunning ? deadline(state) : null,
    outputBytes: policy.limits.outputBytes,
    killGraceMs: policy.timeouts.killGraceMs,
  };
}

function nextRunId({ turn: { iteration, runs } }: LoopState): string {
  return `${iteration}.${runs + 1}`;
}

/** Every turn is closed by a wait, also by one of no length; a paused loop does not sit out a usage limit. */
function waitOrRest(state: LoopState, run: Run): readonly Effect[] {
  const { until, why } = waitAfter(state, run);
  if (state.control.paused && why === 'usage-limit') return [{ type: 'rest', key: 'rest' }];
  return [{ type: 'wait', key: `wait:${run.id}`, until, why }];
}

function endAtLimit(outcome: Outcome | null): readonly Effect[] | undefined {
  return outcome === null ? undefined : end(outcome);
}

function end(outcome: Outcome): readonly Effect[] {
  return record('end', { type: 'loop.ended', outcome });
}

function record(key: string, event: Happening): readonly Effect[] {
  return [{ type: 'record', key, event }];
}
