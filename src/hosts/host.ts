import type { RunError } from '../loop/event.ts';
import type { Receipt, StrayProcess } from '../loop/receipt.ts';

/** Where an agent runs: the port. The other files of this folder are its adapters. */
export interface Host {
  /** Finds a run that was started, whether it is alive or has ended since; null if it was never started. Starts nothing. */
  find(request: RunRequest): Promise<HostedRun | null>;
  /** Starts a run that was never started; throws `NotStarted` if its program cannot be started. */
  start(request: RunRequest): Promise<HostedRun>;
  /** Whether a run continues after the process that started it has exited. */
  readonly outlivesOwner: boolean;
  /** Whether the work of the next run has been done already, so that it gets no prompt; absent means no. */
  readonly hasTurn?: boolean;
}

export interface RunRequest {
  readonly run: string;
  /** The receipt in the journal. */
  readonly receipt: Receipt | null;
}

/** A run that was started; it may have ended since. */
export interface HostedRun {
  readonly receipt: Receipt;
  /** Whether the machine was restarted since it was started. */
  readonly isOfEarlierBoot: boolean;
  /** Resolves when the agent has ended, by itself or by `stop`. Processes that it started may still be alive. */
  readonly ended: Promise<void>;
  /** Passes on all output from the beginning, as it arrives. A chunk is valid only during the call. */
  follow(take: (chunk: Buffer, stream: OutputStream) => void | Promise<void>): void;
  /**
   * Ends the agent and everything that it started: SIGTERM, then SIGKILL after the grace. Processes of the spared groups stay, with
   * everything below them. Returns possible strays.
   */
  stop(graceMs: number, spared?: readonly number[]): Promise<readonly StrayProcess[]>;
  /** Reads the rest of the output (with `leave`: skips it) and closes it. Resolves to the exit code; null if unknown. */
  close(rest: 'read' | 'leave'): Promise<number | null>;
  /**
   * What its terminal shows; absent where it has none. Null while the run has not got its prompt yet, and is not inactive
   * however still it is.
   */
  screen?(): Promise<Screen | null>;
  /** Stops following a run that continues; the next owner finds it and reads its output from the beginning. */
  detach(): Promise<void>;
}

/** What a terminal shows, lines that have scrolled out included. */
export interface Screen {
  readonly text: string;
  /** Without what was there before the prompt, and without the prompt itself. */
  readonly own: string;
}

export type OutputStream = 'stdout' | 'stderr';

/** The run could not be started. */
export class NotStarted extends Error {
  readonly error: RunError;

  constructor(error: RunError) {
    super(error.message);
    this.name = 'NotStarted';
    this.error = error;
  }
}
