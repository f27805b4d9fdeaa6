/** What a person reads about a loop, line by line, as it happens. One catalogue for all presets. */
import { clockTime } from './times.ts';
import { openClaim } from '../loop/claim.ts';
import { counted, ofLimit } from '../loop/counted.ts';
import type { Effect } from '../loop/effect.ts';
import type { LoopEvent } from '../loop/event.ts';
import { resetsTooLate } from '../loop/limits.ts';
import { explain } from '../loop/outcome.ts';
import type { LoopReport } from '../loop/report.ts';
import { openRun } from '../loop/run.ts';
import type { LoopState } from '../loop/state.ts';
import { howItFailed } from '../loop/exit-code.ts';
import { nearedText } from '../loop/limit-use.ts';
import { brief } from './one-line.ts';
import { commitLines } from './commits.ts';
import { childLine, childrenTimeoutLine, childrenWaitLines } from './children.ts';
import { examinedLines, protectedRejection, restoredLines } from './evidence.ts';
import { limitChangeText, givenLimits, limitWords } from './limits.ts';
import { planLines, planPart } from './plan.ts';
import { nearMissLines, retryLines, runLines } from './run-lines.ts';
import { waitText, longerWaitText } from './waits.ts';
import { textsOf } from './wording.ts';

/** The lines that an event is worth; `state` and `report` are those after the event. */
export function linesFor(
  event: LoopEvent,
  state: LoopState,
  report: LoopReport,
  isVerbose = false,
): readonly string[] {
  const { policy } = state;
  switch (event.type) {
    case 'iteration.started':
      return [
        `starting iteration ${ofLimit(event.iteration, state.policy.limits.iterations)}${planPart(state)}`,
      ];
    case 'run.ended':
      return [...runLines(event, state, report), ...nearMissLines(event, state)];
    case 'probe.finished':
      return [
        ...nearMissLines(event, state),
        ...planLines(event),
        ...(event.childrenProblem === undefined
          ? []
          : [`warning: failed to enumerate children: ${event.childrenProblem}`]),
      ];
    case 'check.finished':
      return [checkLine(event, state, isVerbose), ...unclaimedLines(event, state)];
    case 'evidence.examined':
      return examinedLines(event, state);
    case 'evidence.restored':
      return restoredLines(event);
    case 'claim.rejected': {
      const { length } = event.failed;
      if (event.because === 'protected-change') return [protectedRejection(event)];
      if (event.because === 'run-failed')
        return [
          'claim rejected: the agent says it is done, but its run did not succeed and no check confirms it',
        ];
      return [
        `claim rejected: the agent says it is done, but ${counted(length, 'check fails', 'checks fail')}`,
      ];
    }
    case 'claim.accepted':
      if (state.turn.claim?.by === 'checks') return ['every check passed'];
      return [
        event.verified ? 'claim accepted: every check passed' : 'claim accepted, not verified by a check',
        ...childrenWaitLines(state),
      ];
    case 'commit.made':
      return [...commitLines(event, report), ...childrenWaitLines(state)];
    case 'checkpoint.taken':
      if (event.error === null) return childrenWaitLines(state);
      return [
        `warning: ${event.ref === null ? 'no' : 'incomplete'} checkpoint of iteration ${event.iteration}: ${event.error}`,
        ...childrenWaitLines(state),
      ];
    case 'control.received':
      return controlLines(event, state);
    case 'policy.changed':
      if (event.by !== undefined) return limitLines(report);
      return [`settings changed: ${limitWords(givenLimits(policy))}`];
    case 'owner.changed':
      return ownerLines(event, state);
    case 'loop.reopened': {
      if (event.because !== undefined)
        return [
          'the Ralph process that ran the loop did not confirm that it is done; Ralph judges the claim again',
        ];
      const where =
        state.turn.started && state.turn.run === null
          ? `resumed: restarting iteration ${ofLimit(state.iteration, state.policy.limits.iterations)}`
          : `resumed after iteration ${ofLimit(state.iteration, state.policy.limits.iterations)}`;
      return event.policy === null ? [where] : [`${where}, with ${limitWords(givenLimits(policy))}`];
    }
    case 'loop.ended':
      return endLines(event, state);
    case 'child.started':
    case 'child.ended':
      return [childLine(event)];
    case 'timer.fired':
      if (event.key === 'children') return [childrenTimeoutLine(state)];
      return event.key.startsWith('answer:') ? ['no answer in time, continuing with the default'] : [];
    case 'limit.shared': {
      const shared = state.turn.sharedLimit;
      // The end of the loop follows, and says why.
      if (shared !== null && resetsTooLate(state, shared.until, shared.resetsAt) !== null) return [];
      const until = clockTime(shared?.until ?? event.resetsAt, event.at);
      const longer = longerWaitText(state);
      return [
        `another loop of this account hit the usage limit (${event.message}), waiting until ${until}${longer === null ? '' : `, ${longer}`}`,
      ];
    }
    case 'limit.neared':
      return [`${nearedText(event)}; raise it with: ralph set ${state.name} ${SET_KEYS[event.limit]}=…`];
    case 'unchanged.noticed': {
      const what = `every check passes, and nothing has changed for ${counted(event.unchanged, 'iteration')}`;
      return [
        `${what}; --max-unchanged ${event.unchanged} would end the loop: ralph set ${state.name} max-unchanged=${event.unchanged}`,
      ];
    }
    case 'question.asked':
      return questionLines(event, state);
    case 'run.planned':
      return event.purpose === 'commit-message' ? ['asking the agent for a commit message'] : [];
    case 'loop.created':
    case 'owner.left':
    case 'start.recorded':
    case 'run.started':
    case 'checks.started':
    case 'claim.made':
    case 'run.output':
    case 'changes.found':
    case 'family.counted':
      return [];
  }
}

/** What `ralph set` calls the limits. */
const SET_KEYS = { costUsd: 'max-cost', tokens: 'max-tokens', timeMs: 'max-time' } as const;

/** The question, how to answer it, and what happens without an answer. */
function questionLines(
  { text, at }: Extract<LoopEvent, { type: 'question.asked' }>,
  { name, questions }: LoopState,
): readonly string[] {
  const open = questions.at(-1);
  const until = open?.until ?? null;
  return [
    `the agent asks: ${brief(text)}`,
    `answer with: ralph answer ${name} "…"${until === null ? '' : ` (default at ${clockTime(until, at)}: ${brief(open?.default ?? '')})`}`,
  ];
}

/** The limits that an edit of `state.json` changed: every program that can write the file can do that. */
function limitLines({ limitChanges }: LoopReport): readonly string[] {
  const last = limitChanges.at(-1);
  return last === undefined ? [] : [`limits changed: ${limitChangeText(last)}`];
}

/** Says why the loop continues after its last check has passed. */
function unclaimedLines(
  { iteration }: Extract<LoopEvent, { type: 'check.finished' }>,
  state: LoopState,
): readonly string[] {
  const { checks } = state.turn;
  if (iteration === 0 || checks.some((result) => result?.code !== 0)) return [];
  if (state.policy.completion.until === 'checks' || openClaim(state) !== null) return [];
  return ['every check passes, but the agent has not claimed to be done'];
}

function checkLine(
  event: Extract<LoopEvent, { type: 'check.finished' }>,
  { policy }: LoopState,
  isVerbose: boolean,
): string {
  const { command, result, index } = event;
  const took = inSeconds(result.durationMs);
  const before = event.iteration === 0 ? 'before the first iteration: ' : '';
  if (result.code === 0) return `${before}check passed: ${brief(command)} (exit 0, ${took})`;
  const how = howItFailed(result);
  const showsAction = isVerbose || policy.wording.showFailAction;
  const action = showsAction ? `, action=${policy.checks.commands[index]?.action ?? 'APPEND'}` : '';
  return `${before}check failed: ${brief(command)} (${how}${action}, ${took}) — ${result.log}`;
}

/** A hint for a check that failed in a worktree because its command is not installed there. */
export function hintFor(
  { result }: Extract<LoopEvent, { type: 'check.finished' }>,
  { policy }: LoopState,
): string | null {
  if (result.code !== COMMAND_NOT_FOUND || policy.worktree.setup.length > 0) return null;
  return 'hint: a new worktree has committed files only; to install dependencies there, add "setup": ["npm ci"] to .ralph/settings.json and start over with --fresh';
}

const COMMAND_NOT_FOUND = 127;

/** The lines for an effect that begins now and may take a while. */
export function linesAtStart(effect: Effect, state: LoopState | null): readonly string[] {
  if (effect.type === 'check') return [`check started: ${brief(effect.check.command)}`];
  return state === null ? [] : retryLines(effect, state);
}

/** More lines for `--verbose`, in the words of document 001. */
export function detailsFor(event: LoopEvent, state: LoopState): readonly string[] {
  const { run } = state.turn;
  if (event.type === 'iteration.started')
    return [`Iteration ${ofLimit(event.iteration, state.policy.limits.iterations)} starting`];
  if (event.type === 'run.started') return [`Agent started (process ${event.receipt.pid})`];
  if (event.type === 'run.ended' && run?.id === event.run) {
    const found = run.output.claim === null ? 'nothing found' : `found ${run.output.claim.text}`;
    return [`Agent ended after ${inSeconds(event.at - run.plannedAt)}`, `Looking for completion: ${found}`];
  }
  if (event.type === 'check.finished') {
    const { code, durationMs } = event.result;
    return [textsOf(state.policy.wording).checkExit(code, inSeconds(durationMs))];
  }
  return event.type === 'claim.made' ? [`Claim by ${event.claim.by}: ${event.claim.text}`] : [];
}

function inSeconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)}s`;
}

function controlLines(
  { control }: Extract<LoopEvent, { type: 'control.received' }>,
  state: LoopState,
): readonly string[] {
  switch (control.type) {
    case 'pause':
      return ['pausing after this iteration'];
    case 'resume':
      return [
        [control.now ? 'resumed without waiting' : 'resumed', waitText(state)]
          .filter((part) => part !== null)
          .join(', '),
      ];
    case 'stop':
      return [control.now ? 'stopping now' : 'stopping after the running step'];
    case 'signal':
      return signalLines(control.signal, state);
    case 'tell':
      return [`added to the next prompt: ${control.text.split('\n', 1)[0] ?? ''}`];
    case 'answer':
      return [`answered: ${control.text.split('\n', 1)[0] ?? ''}`];
    case 'set':
      return [`limits changed: ${limitWords(control.limits)}`];
    case 'abort':
      // The final report says why.
      return ['stopping after an unrecoverable error'];
  }
}

function signalLines(signal: string, { control, policy }: LoopState): readonly string[] {
  if (control.signals > 1) return [`received ${signal} again, stopping the running step now`];
  if (control.paused && control.stop === null)
    return [`received ${signal}, pausing loop (current agent will complete)`];
  return control.stop?.now === true
    ? [`received ${signal}, stopping the running step now`]
    : textsOf(policy.wording).signal(signal);
}

function ownerLines(
  { agentGone }: Extract<LoopEvent, { type: 'owner.changed' }>,
  state: LoopState,
): readonly string[] {
  if (state.iteration === 0) return [];
  const run = openRun(state);
  // A paused loop prints `resumed` once it is resumed.
  if (state.control.paused && run === null) return [];
  const iteration = ofLimit(state.iteration, state.policy.limits.iterations);
  if (run !== null && state.policy.host === 'session') return [];
  if (run !== null && agentGone === true)
    return [`continuing at iteration ${iteration}, whose agent is no longer running`];
  if (run !== null) return [`reattached to the agent of iteration ${iteration}`];
  const waiting = waitText(state) ?? childrenWaitLines(state)[0];
  return [`continuing at iteration ${iteration}${waiting === undefined ? '' : `, ${waiting}`}`];
}

/** As document 003 has it. */
export const STOPPING = ', stopping loop';

function endLines(
  { outcome }: Extract<LoopEvent, { type: 'loop.ended' }>,
  state: LoopState,
): readonly string[] {
  const { iterationLimitLine } = state.policy.wording;
  switch (outcome.type) {
    case 'failures-exhausted': {
      // The final report has the advice, too.
      const [what = ''] = explain(outcome, state.policy).split('; ', 1);
      return [`${what}${STOPPING}`];
    }
    case 'iterations-exhausted':
      return iterationLimitLine === null
        ? []
        : [iterationLimitLine.replace('{iterations}', String(state.iteration))];
    case 'waiting':
      return [textsOf(state.policy.wording).waitingForPerson];
    case 'done':
      return state.turn.claim?.by === 'pattern' ? [`done pattern matched${STOPPING}`] : [];
    case 'time-exhausted':
    case 'cost-exhausted':
    case 'tokens-exhausted':
    case 'limit-waits-exhausted':
    case 'stuck':
    case 'prompt-lost':
    case 'bad-input':
    case 'fatal':
    case 'stopped':
      return [];
  }
}
