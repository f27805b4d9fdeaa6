/**
 * Runs the built command inside this process, which saves the start of one: `dist/cli/main.js` is loaded as Node would load it, with
 * its own arguments, environment, working directory and output, and an stdin that is at its end.
 *
 * 1. Everything that a process has only once is put back when the command has ended.
 * 2. Only one command runs at a time: commands share what they have loaded, and with it timers and watchers.
 * 3. There is no process to send a signal to: a test of signals, terminals and crashes starts the command.
 */
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { Readable, Writable } from 'node:stream';
import tty from 'node:tty';
import { setFlagsFromString } from 'node:v8';

export interface LoadedCommand {
  /** The built `main.js`. */
  readonly main: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly print: (descriptor: 1 | 2, bytes: Buffer) => void;
}

/** Runs a command; `abandon` takes the process from one that does not end. */
export function runLoaded(command: LoadedCommand): {
  readonly code: Promise<number>;
  readonly abandon: () => void;
} {
  if (running !== null) throw new Error(`ralph ${running.args.join(' ')} still runs`);
  const restore = takeProcess(command);
  running = command;
  const leave = (): void => {
    if (running !== command) return;
    running = null;
    restore();
  };
  try {
    return { code: load(command).ended.finally(leave), abandon: leave };
  } catch (error) {
    leave();
    throw error;
  }
}

/** Whether a command runs, so that another one needs a process of its own. */
export function isLoadedRunning(): boolean {
  return running !== null;
}

let running: LoadedCommand | null = null;

const require = createRequire(import.meta.url);

/** Runs `main.js`, which is small; the files that it loads are loaded once. */
function load({ main, args }: LoadedCommand): { readonly ended: Promise<number> } {
  process.argv = [process.execPath, main, ...args];
  delete require.cache[main];
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own build
  return require(main) as { readonly ended: Promise<number> };
}

/** Gives the process the environment, working directory and streams of a command; returns what puts everything back. */
function takeProcess({ cwd, env, print }: LoadedCommand): () => void {
  const before = { cwd: process.cwd(), env: { ...process.env } };
  const { argv, exitCode } = process;
  const listeners = EVENTS.map((event) => [event, process.rawListeners(event)] as const);
  const undo = [
    replaceStream('stdin', Readable.from([])),
    replaceStream('stdout', printer(print, 1)),
    replaceStream('stderr', printer(print, 2)),
    replaceFunction(fs, 'writeSync', (descriptor, content) => {
      if (descriptor !== 1 && descriptor !== 2) return undefined;
      const bytes = Buffer.isBuffer(content) ? Buffer.from(content) : Buffer.from(String(content));
      print(descriptor, bytes);
      return bytes.length;
    }),
    replaceFunction(fs, 'readSync', (descriptor) => (descriptor === 0 ? 0 : undefined)),
    replaceFunction(fs, 'readFileSync', (file, options) =>
      file === 0 ? fs.readFileSync('/dev/null', options === 'utf8' ? 'utf8' : null) : undefined,
    ),
    // Stdin as `/dev/null`, and two pipes.
    replaceFunction(fs, 'fstatSync', (descriptor) => {
      if (descriptor === 0) return fs.statSync('/dev/null');
      const isOutput = descriptor === 1 || descriptor === 2;
      return isOutput ? { isCharacterDevice: () => false, dev: 0, ino: descriptor } : undefined;
    }),
    replaceFunction(tty, 'isatty', (descriptor) => (Number(descriptor) <= 2 ? false : undefined)),
  ];
  setEnvironment(env);
  process.chdir(cwd);
  return () => {
    for (const one of undo) one();
    setEnvironment(before.env);
    process.chdir(before.cwd);
    process.argv = argv;
    process.exitCode = exitCode;
    for (const [event, known] of listeners) {
      for (const one of process.rawListeners(event)) {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- typed as any function
        if (!known.includes(one)) process.off(event, one as () => void);
      }
    }
    // A loop lets the heap grow slowly.
    setFlagsFromString('--semi-space-growth-factor=2');
    setFlagsFromString('--heap-growing-percent=0');
  };
}

const EVENTS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'exit'] as const;

function setEnvironment(env: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) if (env[name] === undefined) delete process.env[name];
  Object.assign(process.env, env);
}

function printer(print: LoadedCommand['print'], descriptor: 1 | 2): Writable {
  const stream = new Writable({
    write(bytes: Buffer, _, done) {
      print(descriptor, bytes);
      done();
    },
  });
  return Object.assign(stream, { isTTY: false });
}

function replaceStream(name: 'stdin' | 'stdout' | 'stderr', stream: Readable | Writable): () => void {
  const before = Object.getOwnPropertyDescriptor(process, name);
  Object.defineProperty(process, name, { configurable: true, enumerable: true, value: stream });
  return () => {
    if (before !== undefined) Object.defineProperty(process, name, before);
  };
}

/** Calls `instead` before a function, and the function only if that returns undefined. */
function replaceFunction(
  owner: object,
  name: string,
  instead: (...args: readonly unknown[]) => unknown,
): () => void {
  const original: unknown = Reflect.get(owner, name);
  if (typeof original !== 'function') throw new Error(`no function: ${name}`);
  const replacement = (...args: readonly unknown[]): unknown =>
    instead(...args) ?? Reflect.apply(original, owner, args);
  Reflect.set(owner, name, replacement);
  return () => void Reflect.set(owner, name, original);
}
