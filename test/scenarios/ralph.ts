import { spawn } from 'node:child_process';
import { StringDecoder } from 'node:string_decoder';
import { runLoaded } from '../rig/cli/loaded-command.ts';
import { inTime } from '../rig/cli/until.ts';

/** A running command and its output so far. */
export class Ralph {
  readonly ended: Promise<Ended>;
  hasEnded = false;
  stdout = '';
  stderr = '';
  readonly #process: Running;
  #changed: () => void = () => {};

  constructor(start: (print: Print) => Running) {
    this.#process = start((stream, text) => {
      this[stream] += text;
      this.#changed();
    });
    this.ended = this.#process.code.then((code) => {
      this.hasEnded = true;
      this.#changed();
      return { code, stdout: this.stdout, stderr: this.stderr };
    });
  }

  get pid(): number {
    return this.#process.pid();
  }

  signal(name: NodeJS.Signals): void {
    this.#process.signal(name);
  }

  /** Kills it, so that the next test can run. */
  tearDown(): void {
    this.#process.tearDown();
  }

  /** Waits for a text in the output; fails if the command ends without it. */
  until(text: string, stream: 'stdout' | 'stderr' = 'stderr'): Promise<void> {
    const printed = new Promise<void>((resolve, reject) => {
      const check = (): void => {
        if (this[stream].includes(text)) resolve();
        else if (this.hasEnded) {
          reject(new Error(`ended without printing ${JSON.stringify(text)}:\n${this.stdout}${this.stderr}`));
        }
      };
      this.#changed = check;
      check();
    });
    return inTime(JSON.stringify(text), printed, () => `${this.stdout}${this.stderr}`);
  }
}

/** Starts a process. */
export function started(argv: readonly string[], { cwd, env }: Place): Ralph {
  return new Ralph((print) => {
    const [command = '', ...more] = argv;
    const child = spawn(command, more, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.setEncoding('utf8').on('data', (text: string) => print('stdout', text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => print('stderr', text));
    return {
      code: new Promise((resolve, reject) => {
        child.once('error', reject);
        // `close` follows the end of both streams, so the output is complete.
        child.once('close', (code, signal) => resolve(code ?? signal));
      }),
      pid: () => child.pid ?? 0,
      signal: (name) => void child.kill(name),
      tearDown: () => void child.kill('SIGKILL'),
    };
  });
}

/** Runs the built command inside this process. */
export function loaded(main: string, args: readonly string[], place: Place): Ralph {
  return new Ralph((print) => {
    const decoders = { stdout: new StringDecoder('utf8'), stderr: new StringDecoder('utf8') };
    const { code, abandon } = runLoaded({
      main,
      args,
      ...place,
      print: (descriptor, bytes) => {
        const stream = descriptor === 1 ? 'stdout' : 'stderr';
        print(stream, decoders[stream].write(bytes));
      },
    });
    return { code, pid: refuse, signal: refuse, tearDown: abandon };
  });
}

function refuse(): never {
  throw new Error(
    'this command has no process of its own; a test that needs one opens its stage with openStage',
  );
}

export interface Place {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

type Print = (stream: 'stdout' | 'stderr', text: string) => void;

interface Running {
  readonly code: Promise<Ended['code']>;
  readonly pid: () => number;
  readonly signal: (name: NodeJS.Signals) => void;
  readonly tearDown: () => void;
}

export interface Ended {
  /** The exit code, or the signal that killed the command. */
  readonly code: number | NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}
