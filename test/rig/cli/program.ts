import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { says } from './says.ts';

/** Characters kept per stream; a flood is counted but not kept. */
const KEPT = 4 * 1024 * 1024;

/** A running `ralph` and its output so far, as a process or inside the test's own. */
export interface Running {
  readonly ended: Promise<Ended>;
  readonly isOver: boolean;
  /** Its output on both streams. */
  readonly said: string;
  /** Waits until either stream contains this. */
  says(what: string | RegExp): Promise<void>;
}

/** A process of `ralph`. It leads a process group, as under a shell. */
export class Program implements Running {
  readonly pid: number;
  readonly ended: Promise<Ended>;
  readonly #child: ChildProcess;
  readonly #peakFile: string;
  #stdout = '';
  #stderr = '';
  #bytes = 0;

  constructor(argv: readonly string[], options: ProgramOptions) {
    const [program = '', ...more] = argv;
    this.#peakFile = options.peakFile;
    this.#child = spawn(program, more, {
      cwd: options.cwd,
      env: { ...options.env, RALPH_E2E_PEAK: options.peakFile },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    this.pid = this.#child.pid ?? 0;
    if (options.unread !== true) this.readsOn();
    this.#child.stderr?.on('data', (chunk: Buffer) => {
      if (this.#stderr.length < KEPT) this.#stderr += chunk.toString('utf8');
    });
    this.ended = new Promise((resolve, reject) => {
      this.#child.once('error', reject);
      this.#child.once('close', (code, signal) =>
        resolve({ code, signal, stdout: this.#stdout, stderr: this.#stderr, stdoutBytes: this.#bytes }),
      );
    });
  }

  get isOver(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  get said(): string {
    return `${this.#stdout}${this.#stderr}`;
  }

  says(what: string | RegExp): Promise<void> {
    return says(this, what, () => this.isOver && this.#child.stdout?.readableEnded !== false);
  }

  /** Sends a signal to the whole process group, as a terminal does. */
  signal(name: NodeJS.Signals): void {
    process.kill(-this.pid, name);
  }

  /** Kills it with SIGKILL and waits until it has ended. */
  async crashes(): Promise<void> {
    this.#child.kill('SIGKILL');
    const { signal } = await this.ended;
    if (signal !== 'SIGKILL') throw new Error(`it ended before it was killed:\n${this.said}`);
  }

  /** Closes the readers of its output. */
  loseReaders(): void {
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
  }

  /** Starts reading its stdout. */
  readsOn(): void {
    this.#child.stdout?.on('data', (chunk: Buffer) => {
      this.#bytes += chunk.length;
      if (this.#stdout.length < KEPT) this.#stdout += chunk.toString('utf8');
    });
  }

  /** Its peak memory in MB; after its end as measured by itself. */
  get peakMegabytes(): number {
    if (existsSync(this.#peakFile)) return Number(readFileSync(this.#peakFile, 'utf8')) / 1024;
    const status = readFileSync(`/proc/${this.pid}/status`, 'utf8');
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
  }
}

/** Throws with its output if it did not exit with this code. */
export function exits(end: Ended, code: number): void {
  if (end.code === code) return;
  throw new Error(
    `exited with ${end.code ?? end.signal} and not ${code}:\n${end.stdout.slice(-2000)}${end.stderr}`,
  );
}

export interface ProgramOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly peakFile: string;
  /** Whether its stdout is not read, although it is open. */
  readonly unread?: boolean;
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Bytes of stdout, including what was not kept. */
  readonly stdoutBytes: number;
}
