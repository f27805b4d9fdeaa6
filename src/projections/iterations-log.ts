import type { CheckResult, LoopEvent } from '../loop/event.ts';
import { failureText } from '../loop/failure.ts';
import { isLastTry, mayStillClaim } from '../loop/retry.ts';
import { waitAfter } from '../loop/limits.ts';
import type { Outcome } from '../loop/outcome.ts';
import { isCutShort } from '../loop/run.ts';
import type { LoopState } from '../loop/state.ts';
import type { Knowledge, LoopReport } from '../loop/report.ts';
import { localTime } from '../text/times.ts';
import type { GrowingFile } from './growing-file.ts';
import { ofLimit, duration } from '../loop/counted.ts';
import { nearedText } from '../loop/limit-use.ts';

/** `iterations.log`: document 003's log, a line or two per event. */
export class IterationsLog {
  readonly #file: GrowingFile;
  readonly #mask: (text: string) => string;
  #pending = '';
  /** The bytes that are written, or were when the snapshot was taken. */
  #bytes = 0;

  constructor(file: GrowingFile, mask: (text: string) => string) {
    this.#file = file;
    this.#mask = mask;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Whether the file was removed. */
  get isGone(): boolean {
    return this.#file.size < this.#bytes;
  }

  /** Takes over from a snapshot, which covers this many bytes of the file. */
  startAt(bytes: number): void {
    this.#bytes = bytes;
  }

  /** Takes an event, with what is known after it. */
  take(event: LoopEvent, { state, report }: Knowledge): void {
    for (const line of logLines(event, state, report)) this.#pending += `${this.#mask(line)}\n`;
  }

  /**
   * Drops pending lines that an earlier owner has written, or cuts the file off where it differs from them. Accepts that the
   * file is shorter than it was.
   */
  catchUp(): void {
    const text = Buffer.from(this.#file.read());
    this.#bytes = Math.min(this.#bytes, text.length);
    const written = text.subarray(this.#bytes).toString();
    if (!this.#pending.startsWith(written)) return this.#file.cut(this.#bytes);
    this.#pending = this.#pending.slice(written.length);
    this.#bytes = text.length;
  }

  /** Takes over from an object that has written the whole file again: nothing is pending. */
  replaceBy(other: IterationsLog): void {
    this.#bytes = other.#bytes;
    this.#pending = '';
  }

  write(): void {
    if (!this.#file.append(this.#pending)) return;
    this.#bytes += Buffer.byteLength(this.#pending);
    this.#pending = '';
  }
}

/** The lines of `iterations.log` that an event adds; `state` and `report` are those after it. */
export function logLines(event: LoopEvent, state: LoopState, report: LoopReport): readonly string[] {
  return entries(event, state, report).map((entry) => `${localTime(event.at)} ${entry}`);
}

function entries(event: LoopEvent, state: LoopState, report: LoopReport): readonly string[] {
  const { policy } = state;
  switch (event.type) {
    case 'iteration.started':
      return [`[START] iteration ${ofLimit(event.iteration, policy.limits.iterations)}`];
    case 'run.ended':
      return runEntries(event, state, report);
    case 'check.finished':
      return event.result.code === 0
        ? []
        : [`[CHECK] iteration ${event.iteration} exit=${exitText(event.result)} ${event.command}`];
    case 'claim.rejected':
      return [`[REJECT] iteration ${event.iteration} claim rejected, failing checks: ${event.failed.length}`];
    case 'control.received':
      if (event.control.type === 'pause') return ['[PAUSE] loop paused reason=manual'];
      if (event.control.type === 'resume') return ['[RESUME] loop resumed'];
      return event.control.type === 'signal' && state.control.paused
        ? [`[PAUSE] loop paused reason=${event.control.signal.toLowerCase()}`]
        : [];
    case 'limit.neared':
      return [`[NOTICE] iteration ${state.iteration} ${nearedText(event)}`];
    case 'loop.ended':
      return [
        `[DONE] loop complete after ${state.iteration} iterations reason=${reason(event.outcome, state)}`,
      ];
    case 'loop.reopened':
      return ['[RESUME] loop resumed'];
    case 'loop.created':
    case 'start.recorded':
    case 'evidence.examined':
    case 'evidence.restored':
    case 'policy.changed':
    case 'owner.changed':
    case 'owner.left':
    case 'run.planned':
    case 'run.started':
    case 'run.output':
    case 'checks.started':
    case 'probe.finished':
    case 'claim.made':
    case 'claim.accepted':
    case 'changes.found':
    case 'family.counted':
    case 'commit.made':
    case 'checkpoint.taken':
    case 'limit.shared':
    case 'unchanged.noticed':
    case 'timer.fired':
    case 'child.started':
    case 'child.ended':
    case 'question.asked':
      return [];
  }
}

function exitText({ code, timedOut, flooded }: CheckResult): string {
  if (timedOut) return 'timeout';
  return flooded === true ? 'output-limit' : String(code ?? 'unknown');
}

function runEntries(
  event: Extract<LoopEvent, { type: 'run.ended' }>,
  state: LoopState,
  report: LoopReport,
): readonly string[] {
  const { run, iteration } = state.turn;
  const last = report.iterations.at(-1);
  if (run?.id !== event.run || last === undefined) return [];
  const { ending, as } = event;
  if (as === 'usage-limit') {
    return [
      `[LIMIT] iteration ${iteration} usage limit, waiting until ${localTime(waitAfter(state, run).until)}`,
    ];
  }
  if (as === 'outage') {
    return [
      `[OUTAGE] iteration ${iteration} ${failureText(ending, as) ?? 'no answer'}, trying again at ${localTime(waitAfter(state, run).until)}`,
    ];
  }
  if (isCutShort(as)) return [`[STOP] iteration ${iteration} interrupted`];
  const exit = ending.how === 'exited' ? (ending.code ?? 'unknown') : ending.how;
  const lines = [
    `[END] iteration ${iteration} exit=${exit} duration=${duration(event.at - last.workPlannedAt)}`,
  ];
  if (ending.how === 'timed-out' && ending.which === 'inactivity') {
    const seconds = (state.policy.timeouts.inactivityMs ?? 0) / 1000;
    lines.push(`[TIMEOUT] iteration ${iteration} inactivity_timeout=${seconds}s`);
  }
  if (as === 'failure') {
    const seconds = Math.round((waitAfter(state, run).until - state.turn.at) / 1000);
    const attempt = ofLimit(state.failures.consecutive, state.policy.limits.failures);
    const waits = seconds > 0 && !isLastTry(state) && !mayStillClaim(state);
    const backoff = waits ? ` backoff=${seconds}s` : '';
    lines.push(`[FAIL] iteration ${iteration} exit=${exit} attempt=${attempt}${backoff}`);
  }
  return lines;
}

/** Document 003's word for an end where it has one. */
function reason(outcome: Outcome, { turn }: LoopState): string {
  switch (outcome.type) {
    case 'iterations-exhausted':
      return 'max_iterations';
    case 'stopped':
      return outcome.by === 'person' ? 'killed' : outcome.by;
    case 'done':
      return turn.claim?.by === 'pattern' ? 'done_pattern' : 'done';
    case 'waiting':
    case 'time-exhausted':
    case 'cost-exhausted':
    case 'tokens-exhausted':
    case 'failures-exhausted':
    case 'limit-waits-exhausted':
    case 'stuck':
    case 'prompt-lost':
    case 'bad-input':
    case 'fatal':
      return outcome.type.replaceAll('-', '_');
  }
}
