import { spawn } from 'node:child_process';

/** Runs a short program of our own choice (git, and the like) and gives back what it printed; null if it is not there. */
export function exec(
  argv: readonly [string, ...string[]],
  options: {
    readonly cwd: string;
    readonly env: Readonly<Record<string, string>>;
    readonly maxBytes?: number;
    /** All that anybody wants of its output: whoever has said that much is ended and cut short. */
    readonly enoughBytes?: number;
    /** For its standard input. */
    readonly input?: string | Buffer;
    /** For one that may take long, or is a stranger's: after that time it is ended, with all that it started. */
    readonly patienceMs?: number;
    /** Ends it in the same way. */
    readonly interrupt?: AbortSignal;
  },
): Promise<Execution | null> {
  const { cwd, env, maxBytes = 64 * 1024 * 1024, enoughBytes = Infinity, patienceMs, interrupt } = options;
  const [program, ...more] = argv;
  return new Promise((resolve) => {
    const child = spawn(program, more, {
      cwd,
      env,
      stdio: ['pipe', 'pipe', 'pipe'],
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
    // Not node's own, which outlives a program that never came to life, and keeps us here.
    const patience = setTimeout(end('SIGKILL'), patienceMs ?? LONGEST_MS);
    // Gently: git takes its locks back.
    const giveUp = end('SIGTERM');
    interrupt?.addEventListener('abort', giveUp);
    if (interrupt?.aborted === true) giveUp();
    // Whoever does not read it has no use for it.
    child.stdin.on('error', () => {}).end(options.input ?? '');
    const out: Buffer[] = [];
    const errors: Buffer[] = [];
    let size = 0;
    let said = 0;
    const keep = (into: Buffer[]) => (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBytes) into.push(chunk);
    };
    child.stdout.on('data', keep(out)).on('data', (chunk: Buffer) => {
      said += chunk.length;
      if (said < enoughBytes) return;
      child.stdout.destroy();
      giveUp();
    });
    child.stderr.on('data', keep(errors));
    child.once('error', () => {
      clearTimeout(patience);
      resolve(null);
    });
    const finish = (code: number | null): void =>
      resolve({
        code: said >= enoughBytes ? 0 : code,
        stdout: Buffer.concat(out).subarray(0, enoughBytes),
        stderr: Buffer.concat(errors).toString('utf8'),
      });
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
