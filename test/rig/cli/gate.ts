import { execFileSync } from 'node:child_process';
import { closeSync, openSync, writeSync } from 'node:fs';

/** A named pipe that a script waits at without polling: `read go <"$GATE"`. */
export class Gate {
  readonly path: string;
  readonly #descriptor: number;

  constructor(path: string) {
    execFileSync('mkfifo', [path]);
    this.path = path;
    // Opened for reading too, so that opening never blocks and a written line stays until a script reads it.
    this.#descriptor = openSync(path, 'r+');
  }

  /** Lets one script through: the waiting one, or the next to arrive. */
  open(): void {
    writeSync(this.#descriptor, 'go\n');
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}
