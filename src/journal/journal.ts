import type { LoopEvent } from '../loop/event.ts';

/** The events of one loop, in order: the only record that the loop's state is computed from. */
export interface Journal {
  /** The number of events. */
  readonly length: number;
  /** Writes the next event; throws if `expected` is not the number of events so far. */
  append(event: LoopEvent, expected: number): void;
  /** Checks that no other process has removed or changed the journal; restores it if it was removed, throws if it was changed. */
  verify(): void;
  /** Returns when all appended events would survive a crash of the machine. */
  sync(): void;
  close(): void;
}

/** Why a journal cannot be read or written; `line` is 1-based. */
export class JournalError extends Error {
  readonly reason: JournalTrouble;
  readonly line: number | null;

  constructor(reason: JournalTrouble, message: string, line: number | null = null, cause?: unknown) {
    super(message, { cause });
    this.name = 'JournalError';
    this.reason = reason;
    this.line = line;
  }
}

export type JournalTrouble =
  /** A line in the middle is damaged; nothing was changed. */
  | 'damaged'
  /** A line with the right checksum holds what no event can be; nothing was changed. */
  | 'impossible'
  /** Another version of Ralph wrote it. */
  | 'version'
  /** Another process has written to it, so the writer is no longer the owner. */
  | 'fenced'
  /** No more events can be written; those written before are intact. */
  | 'disk-full';
