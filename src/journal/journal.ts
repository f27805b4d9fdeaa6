import type { LoopEvent } from '../loop/event.ts';

/** The truth about one loop: its events, in order, and nothing that was not written. */
export interface Journal {
  /** How many events there are. */
  readonly length: number;
  /** Writes the next event; refused when `expected` is not the number of events so far. */
  append(event: LoopEvent, expected: number): void;
  /** Looks whether it is still where it was, and puts it back if it can. */
  look(): void;
  /** Returns when everything that was appended would survive a crash of the machine. */
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
  /** A line in the middle is not what was written; nothing was changed. */
  | 'damaged'
  /** A later version wrote it. */
  | 'newer'
  /** Somebody else has written: whoever appends is not the owner any more. */
  | 'fenced'
  /** Nothing more can be written; what was written before is intact. */
  | 'disk-full';
