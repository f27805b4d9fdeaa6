import { StringDecoder } from 'node:string_decoder';
import type { RunError, UsageLimit } from '../loop/event.ts';
import { isFatal } from '../loop/failure.ts';
import { LineSplitter } from '../process/lines.ts';
import type { Agent, Complaint, Retry, RunFacts } from './agent.ts';
import { OwnLogFilter } from './own-log.ts';
import { limitInLastLine, readTrouble } from './trouble.ts';

/** Reads stderr of one run: the retries that it reports, what of it is shown, and why a program failed that does not say so on stdout. */
export class StderrReader {
  readonly #agent: Agent;
  readonly #run: RunFacts;
  readonly #retried: (retry: Retry, isNew: boolean) => void;
  readonly #decoder = new StringDecoder('utf8');
  readonly #filter: OwnLogFilter | null;
  /** The user has asked for the CLI's own log. */
  readonly #showsLog: boolean;
  /** A line is new if its end was not shown before. */
  readonly #lines = new LineSplitter(MAX_LINE_LENGTH);
  #offset = 0;
  #head = '';
  #tail = '';
  /** Consecutive retries that the CLI does not count itself. */
  #attempts = 0;

  /** `argv` is the command line of the user; `retried` gets the retries that only stderr reports. */
  constructor(
    agent: Agent,
    run: RunFacts & { readonly argv: readonly string[] },
    retried: (retry: Retry, isNew: boolean) => void,
  ) {
    this.#agent = agent;
    this.#run = run;
    this.#retried = retried;
    const { ownLog } = agent;
    this.#filter = ownLog === undefined ? null : new OwnLogFilter(ownLog.prefix);
    this.#showsLog = ownLog === undefined || run.argv.includes(ownLog.flag);
  }

  /** How many bytes it has read. */
  get offset(): number {
    return this.#offset;
  }

  /** The beginning of stderr. */
  get head(): string {
    return this.#head;
  }

  /** Reads a chunk of which the first `known` bytes were shown before. */
  push(chunk: Buffer, known: number): Read {
    this.#offset += chunk.length;
    const text = this.#decoder.write(chunk);
    if (this.#head.length < MAX_LENGTH) this.#head += text.slice(0, MAX_LENGTH);
    this.#tail = (this.#tail + text).slice(-MAX_LENGTH);
    const [before, after] = [chunk.subarray(0, known), chunk.subarray(known)];
    this.#complain(before, false);
    this.#complain(after, true);
    const [ownBefore, ownAfter] = [this.#withoutLog(before), this.#withoutLog(after)];
    return {
      text,
      fresh: this.#showsLog ? after : ownAfter,
      isOnlyLog: ownBefore.length + ownAfter.length === 0,
    };
  }

  #withoutLog(chunk: Buffer): Buffer {
    return this.#filter?.push(chunk) ?? chunk;
  }

  /** The agent works again. */
  worked(): void {
    this.#attempts = 0;
  }

  #complain(chunk: Buffer, isNew: boolean): void {
    if (this.#agent.readComplaint === undefined) return;
    for (const line of this.#lines.push(chunk)) {
      const complaint = this.#complaintIn(line ?? '');
      if (complaint === null) continue;
      const { isRepeated, attempt, ...retry } = complaint;
      this.#attempts++;
      const counted: Retry = { type: 'retry', ...retry, attempt: attempt ?? this.#attempts };
      this.#retried(counted, isNew && isRepeated !== true);
    }
  }

  #complaintIn(line: string): Complaint | null {
    return this.#agent.readComplaint?.(line, this.#run) ?? null;
  }

  /** The usage limit in the last lines, if it is not the reason of a retry: a retry counts only until the agent works again. */
  limit(): UsageLimit | null {
    // The last lines of a known CLI are about itself; those of an unknown command may be about anything.
    if (this.#agent.call === null) return limitInLastLine(this.#tail, this.#run.startedAt);
    const lines = this.#lastLines().filter((line) => this.#complaintIn(line) === null);
    const troubles = lines.slice(-LAST_LINES).map((message) => readTrouble({ message }, this.#run.startedAt));
    return troubles.find(({ limit }) => limit !== null)?.limit ?? null;
  }

  /** The error of a program that printed nothing else: the last line has it, unless an earlier one has a fatal error. */
  error(): RunError | null {
    if (this.#agent.call === null) return null;
    const errors = this.#lastLines().map(
      (line) => this.#complaintIn(line)?.error ?? readTrouble({ message: line }, this.#run.startedAt).error,
    );
    return errors.findLast(({ kind }) => isFatal(kind)) ?? errors.at(-1) ?? null;
  }

  /** The last lines, without those of its own log that report no retry. */
  #lastLines(): readonly string[] {
    const { ownLog } = this.#agent;
    return this.#tail
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '')
      .filter(
        (line) => ownLog === undefined || !line.startsWith(ownLog.prefix) || this.#complaintIn(line) !== null,
      );
  }
}

interface Read {
  readonly text: string;
  /** What of it is to be shown now. */
  readonly fresh: Buffer;
  /** It has nothing but lines of the CLI's own log. */
  readonly isOnlyLog: boolean;
}

/** Enough for the error message of a program that could not start. */
const MAX_LENGTH = 4096;
const LAST_LINES = 5;

/** A log may print a whole response. */
const MAX_LINE_LENGTH = 64 * 1024;
