import { spawn, type ChildProcess } from 'node:child_process';

/** A running command and its output so far. */
export class Ralph {
  readonly #child: ChildProcess;
  readonly ended: Promise<Ended>;
  hasEnded = false;
  stdout = '';
  stderr = '';
  #changed: () => void = () => {};

  constructor(argv: readonly string[], cwd: string, env: Readonly<Record<string, string>>) {
    const [command = '', ...more] = argv;
    this.#child = spawn(command, more, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const child = this.#child;
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
      this.#changed();
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
      this.#changed();
    });
    this.ended = new Promise((resolve, reject) => {
      child.once('error', reject);
      // `close` follows the end of both streams, so the output is complete.
      child.once('close', (code, signal) => {
        this.hasEnded = true;
        this.#changed();
        resolve({ code: code ?? signal, stdout: this.stdout, stderr: this.stderr });
      });
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** Waits for a text in the output; fails if the command ends without it. */
  until(text: string, stream: 'stdout' | 'stderr' = 'stderr'): Promise<void> {
    return new Promise((resolve, reject) => {
      const check = (): void => {
        if (this[stream].includes(text)) resolve();
        else if (this.hasEnded) {
          reject(new Error(`ended without printing ${JSON.stringify(text)}:\n${this.stdout}${this.stderr}`));
        }
      };
      this.#changed = check;
      check();
    });
  }
}

export interface Ended {
  /** The exit code, or the signal that killed the command. */
  readonly code: number | NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}
