import { textOf } from '../files/files.ts';
import type { LoopEvent } from '../loop/event.ts';
import { cut, joinLines } from '../loop/excerpt.ts';
import { failureText } from '../loop/failure.ts';
import { planCount } from '../loop/plan.ts';
import { costText, type Knowledge, type LoopReport } from '../loop/report.ts';
import { producedWork, isCutShort } from '../loop/run.ts';
import type { LoopState } from '../loop/state.ts';
import { outputLine } from './check-output.ts';
import { howItFailed } from '../loop/exit-code.ts';
import type { GrowingFile } from './growing-file.ts';

/** `progress.md`: document 002's account of every iteration, for people and for the next prompt. */
export class ProgressFile {
  readonly #file: GrowingFile;
  readonly #context: ProgressContext;
  /** Functions, because the log of a check is read only when its entry is written. */
  #pending: (() => string)[] = [];
  /** The entries that are written, or were when the snapshot was taken. */
  #entries = 0;

  constructor(file: GrowingFile, context: ProgressContext) {
    this.#file = file;
    this.#context = context;
  }

  get entries(): number {
    return this.#entries;
  }

  /** Whether the file was removed. */
  get isGone(): boolean {
    return this.#entries > 0 && this.#file.size === 0;
  }

  /** Takes over from a snapshot, which covers this many entries of the file. */
  startAt(entries: number): void {
    this.#entries = entries;
  }

  /** Takes an event, with what was known before it. */
  take(event: LoopEvent, { state, report }: Knowledge): void {
    if (!completesIteration(event, state, report)) return;
    const { logOf, mask } = this.#context;
    const { excerpt } = state.policy.checks;
    const error = (log: string): string => outputLine(logOf(log), excerpt, mask);
    this.#pending.push(() => mask(progressEntry(state, report, error)));
  }

  /** Drops pending entries that an earlier owner has written: the logs of old checks need not be read again. */
  catchUp(): void {
    const written = this.#file.read().match(/^## Iteration /gm)?.length ?? 0;
    const missing = this.#entries + this.#pending.length - written;
    this.#entries = written;
    this.#pending = missing > 0 ? this.#pending.slice(-missing) : [];
  }

  /** Takes over from an object that has written the whole file again: nothing is pending. */
  replaceBy(other: ProgressFile): void {
    this.#entries = other.#entries;
    this.#pending = [];
  }

  write(): void {
    const entries = this.#pending.map((entry) => entry());
    if (!this.#file.append(entries.join(''))) return;
    this.#entries += entries.length;
    this.#pending = [];
  }

  /** The file as the next prompt shows it, after the progress of the loop that this one replaces. */
  read(): string {
    const earlier = (textOf(this.#context.earlier) ?? '').trim();
    const before = earlier === '' ? '' : `# Of an earlier loop\n\n${earlier}\n\n# Of this loop\n\n`;
    return `${before}${this.#file.read()}`;
  }
}

export interface ProgressContext {
  /** The log of a check, by the name that the journal has for it. */
  readonly logOf: (log: string) => string;
  /** The progress file of an unfinished loop that this one replaces. */
  readonly earlier: string;
  readonly mask: (text: string) => string;
}

/** Whether an event closes an iteration; `state` and `report` are those before it. */
export function completesIteration(event: LoopEvent, state: LoopState, report: LoopReport): boolean {
  const closes = (event.type === 'timer.fired' && event.key !== 'children') || event.type === 'loop.ended';
  const as = state.turn.run?.ended?.as;
  return closes && as !== undefined && !isCutShort(as) && report.iterations.length > 0;
}

/** The entry of `progress.md` for the iteration that is being closed; `errorIn` reads the error from the log of a check. */
export function progressEntry(
  state: LoopState,
  report: LoopReport,
  errorIn: (log: string) => string,
): string {
  const last = report.iterations.at(-1);
  if (last === undefined) return '';
  const as = state.turn.run?.ended?.as;
  const { iteration, startedAt, steps, spent } = last;
  const checks = state.turn.checksStarted ? report.checks : [];
  const ending = state.turn.run?.ended?.ending;
  const plan = state.turn.after?.plan;
  const error = ending === undefined || as === undefined ? null : failureText(ending, as);
  const verdict = !producedWork(as) || checks.some(({ result }) => result.code !== 0) ? 'FAIL' : 'PASS';
  // An iteration whose checks did not all run has not passed.
  const isChecked = checks.length > 0 && checks.length === state.policy.checks.commands.length;
  const lines = checks.map(({ command, result }) => {
    // A command of several lines would break the list.
    const item = `  - ${joinLines(command, ' ')}`;
    if (result.code === 0) return `${item}: PASS`;
    const text = result.timedOut || result.flooded === true ? '' : errorIn(result.log);
    // A check that printed nothing says how it failed by its exit code only.
    return `${item}: FAIL — ${text === '' ? howItFailed(result) : text}`;
  });
  return [
    `## Iteration ${iteration} — ${verdict === 'PASS' && !isChecked ? 'UNCHECKED' : verdict}`,
    '',
    `- Steps: ${steps}`,
    `- Cost: ${costText(spent?.usd ?? 0, spent?.unknownRuns === 0)}`,
    `- Duration: ${((state.turn.at - startedAt) / 1000).toFixed(1)}s`,
    ...(error === null ? [] : [`- Error: ${cut(error.replaceAll(/\s+/g, ' '), MAX_ERROR_LENGTH)}`]),
    ...(plan === undefined || plan.problem !== null ? [] : [`- Plan: ${planCount(plan)}`]),
    '- Checks:',
    ...lines,
    '',
    '',
  ].join('\n');
}

const MAX_ERROR_LENGTH = 200;
