/** What a person reads about a loop, line by line, as it happens. One catalogue for all presets. */
import type { Effect } from '../loop/effect.ts';
import type { LoopEvent } from '../loop/event.ts';
import type { LoopReport } from '../loop/report.ts';
import type { LoopState } from '../loop/state.ts';
import { failureText } from '../loop/failure.ts';
import { waitAfter } from '../loop/limits.ts';
import { openRun } from '../loop/run.ts';
import { howItFailed } from '../store/how-it-failed.ts';
import { loopName } from '../store/names.ts';
import { logOf } from '../store/store.ts';
import { hideKeys } from '../store/secrets.ts';
import { duration, localTime } from '../journal/times.ts';
import { limitWords } from './limit-words.ts';

/** The lines that an event is worth; `state` and `report` are as they were after it. */
export function linesFor(
  event: LoopEvent,
  state: LoopState,
  report: LoopReport,
  isVerbose = false,
): readonly string[] {
  const { policy } = state;
  const limit = policy.limits.iterations;
  const of = (number: number): string => (limit === null ? `${number}` : `${number}/${limit}`);
  switch (event.type) {
    case 'iteration.started':
      return [`starting iteration ${of(event.iteration)}`];
    case 'run.ended':
      return runLines(event, state, report);
    case 'check.finished': {
      const { command, result, index } = event;
      const took = inSeconds(result.durationMs);
      const before = event.iteration === 0 ? 'before the first iteration: ' : '';
      if (result.code === 0) return [`${before}check passed: ${brief(command)} (exit 0, ${took})`];
      const how = howItFailed(result.code, result.timedOut);
      // Document 001 wants to see it; elsewhere it is seldom another one.
      const isWanted = isVerbose || policy.preset === 'ralph-cli';
      const action = isWanted ? `, action=${policy.checks.commands[index]?.action ?? 'APPEND'}` : '';
      return [`${before}check failed: ${brief(command)} (${how}${action}, ${took}) — ${result.log}`];
    }
    case 'claim.rejected': {
      const count = event.failed.length;
      return [
        `the agent says it is done, but ${count === 1 ? 'a check fails' : `${count} checks fail`}: claim rejected`,
      ];
    }
    case 'claim.accepted':
      if (state.turn.claim?.by === 'checks') return ['every check passed'];
      return [
        event.verified ? 'claim accepted: every check passed' : 'claim accepted (no check to verify it)',
      ];
    case 'commit.made':
      return commitLines(event);
    case 'checkpoint.taken':
      if (event.error === null) return [];
      return [
        `warning: ${event.ref === null ? 'no checkpoint' : 'not all is in the checkpoint'} of iteration ${event.iteration}: ${event.error}`,
      ];
    case 'control.received':
      return controlLines(event, state);
    case 'policy.changed':
      return [`settings changed: ${limit === null ? 'no iteration limit' : `at most ${limit} iterations`}`];
    case 'owner.changed':
      if (state.iteration === 0) return [];
      // One that is paused goes on when somebody says so, which is told then.
      if (state.control.paused && openRun(state) === null) return [];
      return state.turn.run !== null && state.turn.run.ended === null
        ? [`found again in iteration ${of(state.iteration)}: going on`]
        : [`found again: going on after iteration ${of(state.iteration)}`];
    case 'loop.reopened':
      return state.turn.started && state.turn.run === null
        ? [`resumed: iteration ${of(state.iteration)} starts again`]
        : [`resumed after iteration ${of(state.iteration)}`];
    case 'loop.ended':
      return endLines(event, state);
    case 'child.started':
      return policy.children === null
        ? [`the agent started a loop of its own: ${loopName(event.child)}`]
        : [`waiting for 1 children to complete: [${loopName(event.child)}]`];
    case 'limit.shared': {
      const until = moment(state.turn.sharedLimit?.until ?? event.resetsAt, event.at);
      return [`this account has met its usage limit (${event.message}): waiting until ${until}`];
    }
    case 'run.planned':
      return event.purpose === 'commit-message' ? ['asking the agent for a commit message'] : [];
    case 'loop.created':
    case 'run.started':
    case 'checks.started':
    case 'claim.made':
    case 'run.output':
    case 'probe.finished':
    case 'changes.found':
    case 'timer.fired':
    case 'child.ended':
      return [];
  }
}

/** What may help with a check that has failed in a worktree. */
export function hintFor(
  { result }: Extract<LoopEvent, { type: 'check.finished' }>,
  { policy }: LoopState,
): string | null {
  if (result.code !== COMMAND_NOT_FOUND || policy.worktree.setup.length > 0) return null;
  return 'hint: a worktree has only what is committed; with "setup": ["npm ci"] in .ralph/settings.json a new one (--fresh) gets the rest';
}

const COMMAND_NOT_FOUND = 127;

/** What begins now and may take a while. */
export function lineAtStart(effect: Effect): string | null {
  return effect.type === 'check' ? `check started: ${brief(effect.check.command)}` : null;
}

/** What else there is to know, for whoever wants to know it all: in the words of document 001. */
export function detailsFor(event: LoopEvent, state: LoopState): readonly string[] {
  const limit = state.policy.limits.iterations;
  const { run } = state.turn;
  if (event.type === 'iteration.started')
    return [`Iteration ${event.iteration}${limit === null ? '' : `/${limit}`} starting`];
  if (event.type === 'run.started') return [`Agent started (process ${event.receipt.pid})`];
  if (event.type === 'run.ended' && run?.id === event.run) {
    const found = run.output.claim === null ? 'nothing found' : `found ${run.output.claim.text}`;
    return [`Agent ended after ${inSeconds(event.at - run.plannedAt)}`, `Looking for completion: ${found}`];
  }
  if (event.type === 'check.finished') {
    const { code, durationMs } = event.result;
    return [`Guardrail exited with code ${code ?? 'unknown'} (${inSeconds(durationMs)})`];
  }
  return event.type === 'claim.made' ? [`Claim by ${event.claim.by}: ${event.claim.text}`] : [];
}

function inSeconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)}s`;
}

function runLines(
  event: Extract<LoopEvent, { type: 'run.ended' }>,
  state: LoopState,
  report: LoopReport,
): readonly string[] {
  const { ending, as } = event;
  const { run, iteration } = state.turn;
  if (run?.id !== event.run) return [];
  const took = duration(event.at - (report.iterations.at(-1)?.workPlannedAt ?? event.at), ' ');
  const wait = Math.max(0, Math.round((waitAfter(state, run).until - state.turn.at) / 1000));
  const strays = (event.strays ?? []).map(
    ({ pid, command }) =>
      `warning: process ${pid} (${command}) may have been left behind by the agent; not ended`,
  );
  const unknown = run.output.unknown ?? 0;
  const notes = [
    ...(unknown === 0
      ? []
      : [
          `note: ${unknown} ${unknown === 1 ? 'line of the stream was' : 'lines of the stream were'} not understood; all of it is in ${logOf(state.name, run.id)}`,
        ]),
    ...strays,
  ];
  switch (as) {
    case 'ok':
    case 'wait': {
      const exit = ending.how === 'exited' ? (ending.code ?? 'unknown') : ending.how;
      return [`iteration ${iteration} completed (exit: ${exit}, duration: ${took})`, ...notes];
    }
    case 'usage-limit': {
      const until = moment(waitAfter(state, run).until, event.at);
      return [
        `usage limit reached, waiting until ${until} (${duration(wait * 1000, ' ')}); no iteration is charged`,
      ];
    }
    case 'outage': {
      const why = failureText(ending, as) ?? 'no answer';
      return [
        `the provider does not answer (${why}), trying again in ${wait}s; no iteration is charged`,
        ...strays,
      ];
    }
    case 'restart': {
      const seconds = (state.policy.timeouts.inactivityMs ?? 0) / 1000;
      const restarts = run.output.claim === null ? ', restarting' : '';
      return [`inactivity timeout (${seconds}s)${restarts}`, ...strays];
    }
    case 'interrupted':
      return [`iteration ${iteration} interrupted after ${took}`, ...strays];
    case 'fatal':
      // Document 000 wants to read why right here; for all others it stands at the end.
      return state.policy.preset === 'conductor'
        ? [`Fatal error: ${failureText(ending, as) ?? 'the agent cannot be run'}`]
        : [`iteration ${iteration} failed, and trying again would not help`];
    case 'failure': {
      const most = state.policy.limits.failures;
      const { consecutive } = state.failures;
      const why =
        ending.how === 'exited'
          ? `exit: ${ending.code ?? 'unknown'}`
          : ending.how === 'timed-out'
            ? timeLimit(ending.which, state, took)
            : ending.how;
      const attempt = most === null ? `attempt ${consecutive}` : `attempt ${consecutive}/${most}`;
      const { iterations } = state.policy.limits;
      const isLast =
        (most !== null && consecutive >= most) ||
        (iterations !== null && iteration >= iterations) ||
        state.control.stop !== null;
      const next = isLast ? '' : `, retrying in ${wait}s`;
      const reason =
        ending.how === 'exited' && ending.error !== null ? [`reason: ${ending.error.message}`] : [];
      return [`iteration ${iteration} failed (${why})${next} (${attempt})`, ...reason, ...notes];
    }
  }
}

function timeLimit(
  which: 'wall' | 'inactivity' | 'output' | 'total',
  { policy }: LoopState,
  took: string,
): string {
  switch (which) {
    case 'output':
      return `too much output after ${took}`;
    case 'inactivity':
      return `inactivity timeout (${(policy.timeouts.inactivityMs ?? 0) / 1000}s)`;
    case 'wall':
    case 'total':
      return `agent timeout after ${took}`;
  }
}

function commitLines({
  commit,
  done,
  error,
  subject,
  files,
}: Extract<LoopEvent, { type: 'commit.made' }>): readonly string[] {
  const about = subject === undefined ? '' : `: ${brief(subject)}`;
  const size = files === undefined ? '' : ` (${files === 1 ? '1 file' : `${files} files`})`;
  const what = commit === null ? [] : [`committed ${commit.slice(0, 7)}${about}${size}`];
  const others = commit === null ? done : done.filter((task) => task.trim() !== 'commit');
  if (others.length > 0) what.push(`SCM tasks done: ${others.join(', ')}`);
  if (error !== null) return [...what, `SCM error: ${error}`];
  return done.length === 0 ? ['nothing to commit'] : what;
}

function controlLines(
  { control }: Extract<LoopEvent, { type: 'control.received' }>,
  state: LoopState,
): readonly string[] {
  switch (control.type) {
    case 'pause':
      return ['pausing after this iteration'];
    case 'resume':
      return [control.now ? 'resumed without waiting' : 'resumed'];
    case 'stop':
      return [control.now ? 'stopping now' : 'stopping after the running step'];
    case 'signal':
      if (state.control.signals > 1) return ['Received signal again, ending what is running...'];
      return state.control.paused && state.control.stop === null
        ? [`received ${control.signal}, pausing loop (current agent will complete)`]
        : [
            'Received signal, shutting down...',
            'the running step may finish; once more (Ctrl-C) ends it now',
          ];
    case 'tell':
      return [`told: ${control.text.split('\n', 1)[0] ?? ''} (in the next prompt)`];
    case 'set':
      return [`limits changed: ${limitWords(control.limits)}`];
    case 'abort':
      // Why is told at the end.
      return ['cannot go on'];
  }
}

function endLines(
  { outcome }: Extract<LoopEvent, { type: 'loop.ended' }>,
  state: LoopState,
): readonly string[] {
  switch (outcome.type) {
    case 'failures-exhausted':
      return [`${outcome.failures} consecutive failures, stopping loop`];
    case 'iterations-exhausted':
      return state.policy.preset === 'swarm' ? [`loop complete after ${state.iteration} iterations`] : [];
    case 'waiting':
      return ['Wait-without-restart signal detected'];
    case 'done':
      return state.turn.claim?.by === 'pattern' ? ['done pattern matched, stopping loop'] : [];
    case 'time-exhausted':
    case 'cost-exhausted':
    case 'tokens-exhausted':
    case 'stuck':
    case 'prompt-lost':
    case 'bad-input':
    case 'fatal':
    case 'stopped':
      return [];
  }
}

/** A command on one line, and not more of it than a line takes. */
export function brief(command: string): string {
  const line = hideKeys(command).replaceAll(/\s+/g, ' ').trim();
  return line.length > 120 ? `${line.slice(0, 119)}…` : line;
}

/** A time of today, or a date too. */
function moment(at: number, now: number): string {
  const [date, time] = localTime(at).split('T');
  return date === localTime(now).split('T')[0] ? (time ?? '') : `${date ?? ''} ${time ?? ''}`;
}
