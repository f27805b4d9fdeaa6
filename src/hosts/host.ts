import type { Receipt, RunError, StrayProcess } from '../loop/event.ts';

/** Where an agent's process lives: the port; the other files of this folder are its adapters. */
export interface Host {
  /** The run, if it was ever started: alive, or over while nobody looked. It is never started by this. */
  find(request: RunRequest): Promise<HostedRun | null>;
  /** Starts a run that was never started; throws `NotStarted` when its program cannot be. */
  start(request: RunRequest): Promise<HostedRun>;
  /** Whether a run goes on after the process that started it has exited. */
  readonly outlivesOwner: boolean;
}

export interface RunRequest {
  readonly run: string;
  /** What the journal knows of its process. */
  readonly receipt: Receipt | null;
}

/** A run that was started, whether it is still there or not. */
export interface HostedRun {
  readonly receipt: Receipt;
  /** The agent has ended, by itself or by `stop`; what it started may still be there. */
  readonly ended: Promise<void>;
  /** Hands over all output from the beginning, as it comes. A chunk is only lent. */
  follow(take: (chunk: Buffer, stream: OutputStream) => void | Promise<void>): void;
  /** Ends the agent and all that it started, gently at first, and names what may have got away. */
  stop(graceMs: number): Promise<readonly StrayProcess[]>;
  /** Hands over the last of the output, unless it is to be left, and lets go of it; null when nobody saw its status. */
  close(rest: 'read' | 'leave'): Promise<number | null>;
  /** Stops following a run that goes on; the next owner finds it and reads its output from the beginning. */
  detach(): Promise<void>;
}

export type OutputStream = 'stdout' | 'stderr';

/** The run never came to life. */
export class NotStarted extends Error {
  readonly error: RunError;

  constructor(error: RunError) {
    super(error.message);
    this.name = 'NotStarted';
    this.error = error;
  }
}
