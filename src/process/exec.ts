import { spawn } from 'node:child_process';

/** Runs a short program of our own choice (git, and the like) and gives back what it printed; null if it is not there. */
export function exec(
  argv: readonly [string, ...string[]],
  options: {
    readonly cwd: string;
    readonly env: Readonly<Record<string, string>>;
    readonly maxBytes?: number;
    /** For one that may take long, or is a stranger's: after that time it is ended, with all that it started. */
    readonly patienceMs?: number;
    /** Ends it in the same way. */
    readonly interrupt?: AbortSignal;
  },
): Promise<Execution | null> {
  const { cwd, env, maxBytes = 64 * 1024 * 1024, patienceMs, interrupt } = options;
  const [program, ...more] = argv;
  return new Promise((resolve) => {
    const child = spawn(program, more, {
      cwd,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: patienceMs ?? LONGEST_MS,
      killSignal: 'SIGKILL',
      // In a group of its own it does not hear what a person types at the terminal.
      detached: patienceMs !== undefined,
    });
    const end = (signal: NodeJS.Signals) => (): void => {
      try {
        if (child.pid !== undefined) process.kill(patienceMs === undefined ? child.pid : -child.pid, signal);
      } catch {
        // It was quicker.
      }
    };
    const patience = patienceMs === undefined ? undefined : setTimeout(end('SIGKILL'), patienceMs);
    // Gently: git takes its locks back.
    const giveUp = end('SIGTERM');
    interrupt?.addEventListener('abort', giveUp);
    if (interrupt?.aborted === true) giveUp();
    const out: Buffer[] = [];
    const errors: Buffer[] = [];
    let size = 0;
    const keep = (into: Buffer[]) => (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBytes) into.push(chunk);
    };
    child.stdout.on('data', keep(out));
    child.stderr.on('data', keep(errors));
    child.once('error', () => resolve(null));
    const finish = (code: number | null): void =>
      resolve({ code, stdout: Buffer.concat(out), stderr: Buffer.concat(errors).toString('utf8') });
    child.once('close', finish);
    child.once('exit', (code) => {
      clearTimeout(patience);
      interrupt?.removeEventListener('abort', giveUp);
      // Somebody that it started may hold on to its output for ever.
      setTimeout(() => {
        child.stdout.destroy();
        child.stderr.destroy();
        finish(code);
      }, LINGER_MS).unref();
    });
  });
}

const LONGEST_MS = 60_000;
const LINGER_MS = 200;

export interface Execution {
  /** Null when a signal ended it. */
  readonly code: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}
