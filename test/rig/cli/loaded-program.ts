import { runLoaded, type LoadedCommand } from './loaded-command.ts';
import type { Ended, Running } from './program.ts';
import { says } from './says.ts';

/** The built command inside the test's process, and its output so far: for tests that neither send it a signal nor kill it. */
export class LoadedProgram implements Running {
  readonly ended: Promise<Ended>;
  /** Gives the test its process back from a command that does not end. */
  readonly abandon: () => void;
  readonly #said: Record<1 | 2, Buffer[]> = { 1: [], 2: [] };
  #isOver = false;

  constructor(command: Omit<LoadedCommand, 'print'>) {
    const print: LoadedCommand['print'] = (descriptor, bytes) => void this.#said[descriptor].push(bytes);
    const { code, abandon } = runLoaded({ ...command, print });
    this.abandon = abandon;
    this.ended = this.#end(code);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get said(): string {
    return `${this.#text(1)}${this.#text(2)}`;
  }

  says(what: string | RegExp): Promise<void> {
    return says(this, what, () => this.isOver);
  }

  async #end(exit: Promise<number>): Promise<Ended> {
    const code = await exit.finally(() => (this.#isOver = true));
    const stdoutBytes = Buffer.concat(this.#said[1]).length;
    return { code, signal: null, stdout: this.#text(1), stderr: this.#text(2), stdoutBytes };
  }

  #text(descriptor: 1 | 2): string {
    return Buffer.concat(this.#said[descriptor]).toString('utf8');
  }
}
