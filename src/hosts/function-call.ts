/** One call of an agent function: it gets its prompt and environment, and its reports become lines in files. */
import { closeSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { openRegular, PRIVATE_FILE } from '../files/files.ts';
import type { Marker } from '../process/process-table.ts';
import type { Environment } from '../process/process.ts';

export interface CallSpec {
  /** For the output and the exit status. */
  readonly folder: string;
  readonly promptFile: string;
  readonly workspace: string;
  readonly env: Environment;
  readonly marker: Marker;
}

/** Performs one run. It never throws: errors are part of its result. */
export type Performer = (call: Call) => Promise<Performed>;

export interface Call {
  readonly run: string;
  readonly prompt: string;
  readonly folder: string;
  readonly workspace: string;
  readonly env: Environment;
  /** Aborted when the run has to end. */
  readonly signal: AbortSignal;
  /** Writes one line in the format of the agent `scripted`. */
  readonly report: (event: object) => void;
}

export interface Performed {
  readonly events: readonly object[];
  readonly stderr: string;
  readonly code: number;
}

export class FunctionCall {
  readonly over: Promise<void>;
  isOver = false;
  /** The exit code; null until the function has returned. */
  status: number | null = null;
  /** Why the call could not be made or its output could not be written. */
  failure: unknown = null;
  /** Called after every write. */
  onOutput: (() => void) | null = null;
  readonly #folder: string;
  readonly #stdout: number;
  readonly #stderr: number;
  readonly #aborter = new AbortController();
  #isOpen = true;

  constructor(run: string, spec: CallSpec, perform: Performer) {
    this.#folder = spec.folder;
    this.#stdout = openRegular(join(spec.folder, 'stdout.log'), 'append');
    this.#stderr = openRegular(join(spec.folder, 'stderr.log'), 'append');
    this.over = this.#runToEnd(run, spec, perform);
  }

  /** Asks the function to end. */
  abort(): void {
    this.#aborter.abort();
  }

  /** Ignores everything that the function reports from now on. */
  abandon(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    closeSync(this.#stdout);
    closeSync(this.#stderr);
  }

  async #runToEnd(run: string, spec: CallSpec, perform: Performer): Promise<void> {
    try {
      // The caller has opened the files by then; the function may start by deleting this folder.
      await nextTurn();
      if (!this.#aborter.signal.aborted) this.#record(await perform(this.#context(run, spec)));
    } catch (error) {
      this.failure = error;
    }
    this.isOver = true;
    this.abandon();
  }

  #context(run: string, { promptFile, folder, workspace, env, marker }: CallSpec): Call {
    return {
      run,
      prompt: readFileSync(promptFile, 'utf8'),
      folder,
      workspace,
      env: { ...env, [marker.name]: marker.value },
      signal: this.#aborter.signal,
      report: (event) => this.#writeEvent(event),
    };
  }

  #record({ events, stderr, code }: Performed): void {
    if (!this.#isOpen) return;
    this.#write(this.#stderr, stderr);
    for (const event of events) this.#writeEvent(event);
    this.status = code;
    try {
      writeFileSync(join(this.#folder, 'exit'), `${code}\n`, { mode: PRIVATE_FILE });
    } catch {
      // Only a later owner needs this file, and the function may have deleted the folder.
    }
  }

  #writeEvent(event: object): void {
    this.#write(this.#stdout, `${JSON.stringify(event)}\n`);
  }

  #write(descriptor: number, text: string): void {
    if (!this.#isOpen || text === '') return;
    writeSync(descriptor, text);
    this.onOutput?.();
  }
}
