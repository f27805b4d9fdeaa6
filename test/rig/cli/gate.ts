import { execFileSync } from 'node:child_process';
import { closeSync, openSync, writeSync } from 'node:fs';

/** Something that a script can wait at without looking again and again: `read go <"$GATE"`. */
export class Gate {
  readonly path: string;
  readonly #descriptor: number;

  constructor(path: string) {
    execFileSync('mkfifo', [path]);
    this.path = path;
    // For reading too, so that nobody blocks on opening it and what was written stays until somebody comes.
    this.#descriptor = openSync(path, 'r+');
  }

  /** Lets one through: whoever waits there, or whoever comes next. */
  open(): void {
    writeSync(this.#descriptor, 'go\n');
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}
