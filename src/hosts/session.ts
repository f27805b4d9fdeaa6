/**
 * Runs the agent as turns of a session that another program keeps.
 *
 * 1. A run starts when its prompt is handed to the session, and ends with the session's turn. No process is started or ended.
 * 2. A turn that has ended is the output of the open run, or else of the next run that starts, which then has no prompt of
 *    its own; it is used once.
 * 3. A run continues without its owner. An owner that has no turn to give leaves it as it is.
 * 4. The output is in the run's folder before its exit status is, so a run that has a status is complete.
 */
import { join } from 'node:path';
import { PRIVATE_FILE, textOf } from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';
import type { StrayProcess } from '../loop/receipt.ts';
import { unknownBirth } from '../process/process-table.ts';
import { exitStatus, hasStarted, noteStart } from '../process/shim.ts';
import { Tail } from '../process/tail.ts';
import type { Host, HostedRun, OutputStream } from './host.ts';

export function sessionHost(describe: (run: string) => SessionRunFiles, turns: SessionTurns): Host {
  const endWith = ({ folder }: SessionRunFiles): boolean => {
    if (exitStatus(folder) !== null) return true;
    const turn = turns.take();
    if (turn === null) return false;
    replaceFile(join(folder, STDOUT), turn.output, { mode: PRIVATE_FILE });
    replaceFile(join(folder, 'exit'), `${turn.code}\n`, { mode: PRIVATE_FILE });
    turns.taken?.();
    return true;
  };
  return {
    outlivesOwner: true,
    get hasTurn() {
      return turns.hasTurn;
    },
    async find({ run }) {
      const files = describe(run);
      return hasStarted(files.folder) ? new SessionRun(files.folder, endWith(files)) : null;
    },
    async start({ run }) {
      const files = describe(run);
      noteStart(files.folder);
      const isOver = endWith(files);
      if (!isOver) turns.prompted(textOf(files.prompt) ?? '');
      return new SessionRun(files.folder, isOver);
    },
  };
}

export interface SessionRunFiles {
  readonly folder: string;
  readonly prompt: string;
}

/** What the session has to give to its runs, and what they have to give to it. */
export interface SessionTurns {
  /** Whether a turn has ended that no run has taken yet. */
  readonly hasTurn: boolean;
  /** That turn. */
  take(): TurnOutput | null;
  /** The turn is in the run's folder. */
  taken?(): void;
  /** A run has started: the session gets this prompt. */
  prompted(prompt: string): void;
}

export interface TurnOutput {
  /** In the format of the agent `scripted`. */
  readonly output: string;
  readonly code: number;
}

const STDOUT = 'stdout.log';

class SessionRun implements HostedRun {
  readonly receipt: HostedRun['receipt'] = unknownBirth(0);
  readonly isOfEarlierBoot = false;
  readonly ended: Promise<void>;
  readonly #folder: string;
  readonly #isOver: boolean;
  #tail: Tail | null = null;

  constructor(folder: string, isOver: boolean) {
    this.#folder = folder;
    this.#isOver = isOver;
    // A turn that goes on is ended by a later step of the session.
    this.ended = isOver ? Promise.resolve() : new Promise(() => {});
  }

  follow(take: (chunk: Buffer, stream: OutputStream) => void | Promise<void>): void {
    if (!this.#isOver) return;
    this.#tail = new Tail(join(this.#folder, STDOUT), 0, (chunk) => take(chunk, 'stdout'));
    this.#tail.look();
  }

  /** The session belongs to another program, which is not stopped. */
  async stop(): Promise<readonly StrayProcess[]> {
    return [];
  }

  async close(rest: 'read' | 'leave'): Promise<number | null> {
    await this.#tail?.close(rest);
    return exitStatus(this.#folder);
  }

  async detach(): Promise<void> {
    await this.#tail?.close('leave');
  }
}
