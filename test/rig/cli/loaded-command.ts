/**
 * Runs the built command inside this process, which saves the start of one: `dist/cli/main.js` is loaded as Node would load it, with
 * its own arguments, environment, working directory and output, and an stdin that is at its end.
 *
 * 1. Everything that a process has only once is put back when the last running command has ended.
 * 2. Commands that run at the same time must have the same environment and working directory; each has its own output.
 * 3. There is no process to send a signal to: a test of signals, terminals and crashes starts the command.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { Readable, Writable } from 'node:stream';
import tty from 'node:tty';
import { setFlagsFromString } from 'node:v8';
import { isDeepStrictEqual } from 'node:util';

export interface LoadedCommand {
  /** The built `main.js`. */
  readonly main: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly print: (descriptor: 1 | 2, bytes: Buffer) => void;
}

/** Runs a command; `abandon` takes its environment from one that does not end. */
export function runLoaded(command: LoadedCommand): {
  readonly code: Promise<number>;
  readonly abandon: () => void;
} {
  const streams = new Streams(command.print);
  const leave = enter(command, streams);
  const { ended } = contexts.run(streams, () => load(command));
  return { code: ended.finally(leave), abandon: leave };
}

const require = createRequire(import.meta.url);

/** Runs `main.js`, which is small; what it loads is loaded once. */
function load({ main, args }: LoadedCommand): { readonly ended: Promise<number> } {
  const { argv } = process;
  process.argv = [process.execPath, main, ...args];
  try {
    delete require.cache[main];
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own build
    return require(main) as { readonly ended: Promise<number> };
  } finally {
    process.argv = argv;
  }
}

/** The three streams of a command. */
class Streams {
  readonly stdin = Readable.from([]);
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly print: LoadedCommand['print'];

  constructor(print: LoadedCommand['print']) {
    this.print = print;
    this.stdout = printer((bytes) => print(1, bytes));
    this.stderr = printer((bytes) => print(2, bytes));
  }
}

function printer(print: (bytes: Buffer) => void): Writable {
  const stream = new Writable({
    write(bytes: Buffer, _, done) {
      print(bytes);
      done();
    },
  });
  return Object.assign(stream, { isTTY: false });
}

const contexts = new AsyncLocalStorage<Streams>();
const running = new Set<Streams>();
let place: Pick<LoadedCommand, 'cwd' | 'env'> | null = null;
let restore: () => void = () => {};

/** The streams of the command that calls; of the last one, if a timer that commands share calls. */
function current(): Streams | null {
  const own = contexts.getStore();
  return own !== undefined && running.has(own) ? own : ([...running].at(-1) ?? null);
}

function enter({ cwd, env }: LoadedCommand, streams: Streams): () => void {
  if (running.size === 0) {
    place = { cwd, env: { ...env } };
    restore = takeProcess(place);
  } else if (place?.cwd !== cwd || !isDeepStrictEqual(place.env, env)) {
    throw new Error('commands with different environments need processes of their own');
  }
  running.add(streams);
  return () => {
    if (running.delete(streams) && running.size === 0) restore();
  };
}

/** Gives the process the environment, working directory and streams of a command; returns what puts everything back. */
function takeProcess({ cwd, env }: Pick<LoadedCommand, 'cwd' | 'env'>): () => void {
  const before = { cwd: process.cwd(), env: { ...process.env }, exitCode: process.exitCode };
  const listeners = EVENTS.map((event) => [event, process.rawListeners(event)] as const);
  const undo = [
    ...(['stdin', 'stdout', 'stderr'] as const).map((name) => replaceStream(name)),
    replaceFunction(fs, 'writeSync', (descriptor, content) => {
      if (descriptor !== 1 && descriptor !== 2) return undefined;
      const bytes = Buffer.isBuffer(content) ? content : Buffer.from(String(content));
      current()?.print(descriptor, bytes);
      return bytes.length;
    }),
    // Two pipes.
    replaceFunction(fs, 'fstatSync', (descriptor) =>
      descriptor === 1 || descriptor === 2
        ? { isCharacterDevice: () => false, dev: 0, ino: descriptor }
        : undefined,
    ),
    replaceFunction(tty, 'isatty', (descriptor) => (Number(descriptor) <= 2 ? false : undefined)),
  ];
  setEnvironment(env);
  process.chdir(cwd);
  return () => {
    for (const one of undo) one();
    setEnvironment(before.env);
    process.chdir(before.cwd);
    process.exitCode = before.exitCode;
    for (const [event, known] of listeners) {
      for (const one of process.rawListeners(event)) {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- typed as any function
        if (!known.includes(one)) process.off(event, one as () => void);
      }
    }
    // A loop switches the growth off.
    setFlagsFromString('--semi-space-growth-factor=2');
  };
}

const EVENTS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'exit'] as const;

function setEnvironment(env: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) if (env[name] === undefined) delete process.env[name];
  Object.assign(process.env, env);
}

function replaceStream(name: 'stdin' | 'stdout' | 'stderr'): () => void {
  const before = Object.getOwnPropertyDescriptor(process, name);
  Object.defineProperty(process, name, {
    configurable: true,
    enumerable: true,
    get: () => current()?.[name],
  });
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
