import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { inTime, until } from './until.ts';

/** One turn of the remote-controlled agent (`test/fixtures/remote-agent.mjs`): a process that the test commands. */
export class Turn {
  readonly pid: number;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly prompt: string;
  /** Resolves when its process has ended. */
  readonly gone: Promise<void>;
  readonly #socket: Socket;
  readonly #answers = new Map<number, Answer>();
  readonly #heard: string[] = [];
  #count = 0;

  constructor(socket: Socket, hello: Hello, lines: AsyncIterable<string>) {
    this.pid = hello.pid;
    this.argv = hello.argv;
    this.cwd = hello.cwd;
    this.env = hello.env;
    this.prompt = hello.prompt;
    this.#socket = socket;
    this.gone = this.#listen(lines);
  }

  /** The signals it received. */
  get heard(): readonly string[] {
    return this.#heard;
  }

  /** Waits until it receives a signal. */
  async hears(signal: string): Promise<void> {
    const isHeard = (): true | null => this.#heard.includes(signal) || null;
    await until(`${signal} at the agent`, isHeard, { everyMs: 5, seen: () => this.#heard.join() });
  }

  prints(text: string): Promise<unknown> {
    return this.#tell('print', { text });
  }

  complains(text: string): Promise<unknown> {
    return this.#tell('complain', { text });
  }

  writes(path: string, text = ''): Promise<unknown> {
    return this.#tell('write', { path, text });
  }

  removes(path: string): Promise<unknown> {
    return this.#tell('remove', { path });
  }

  ignores(signal: NodeJS.Signals): Promise<unknown> {
    return this.#tell('ignore', { signal });
  }

  /** Runs a command to its end and returns its exit code. */
  runs(...argv: readonly string[]): Promise<unknown> {
    return this.#tell('run', { argv });
  }

  /** Starts a process in the background and returns its pid. */
  async leaves(...argv: readonly string[]): Promise<number> {
    return Number(await this.#tell('spawn', { argv, detached: false }));
  }

  /** Resolves if it is still running. */
  answers(): Promise<unknown> {
    return this.#tell('ping', {});
  }

  async exits(code: number): Promise<void> {
    void this.#tell('exit', { code });
    await inTime('the exit of the agent', this.gone);
  }

  async diesBy(signal: NodeJS.Signals): Promise<void> {
    void this.#tell('kill', { signal });
    await inTime('the death of the agent', this.gone);
  }

  #tell(deed: string, more: object): Promise<unknown> {
    const id = ++this.#count;
    const answer = inTime(
      `the answer of the agent to ${deed}`,
      new Promise<unknown>((resolve, reject) => {
        this.#answers.set(id, { resolve, reject });
      }),
    );
    // A caller that does not await the answer must not get an unhandled rejection.
    answer.catch(() => {});
    this.#socket.write(`${JSON.stringify({ id, deed, ...more })}\n`);
    return answer;
  }

  async #listen(lines: AsyncIterable<string>): Promise<void> {
    try {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by our own fixture
      for await (const line of lines) this.#take(JSON.parse(line) as Message);
    } catch {
      // A killed process resets its connection.
    }
    for (const { reject } of this.#answers.values()) reject(new Error(`the agent ${this.pid} has ended`));
  }

  #take(message: Message): void {
    if ('heard' in message) {
      this.#heard.push(message.heard);
      return;
    }
    this.#answers.get(message.id)?.resolve(message.answer);
    this.#answers.delete(message.id);
  }
}

/** Waits for the first message of an agent on a new connection. */
export async function meet(socket: Socket): Promise<Turn> {
  socket.on('error', () => {});
  const reader = createInterface({ input: socket });
  const first = await inTime(
    'the first line of an agent',
    new Promise<string>((resolve) => {
      reader.once('line', resolve);
    }),
  );
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by our own fixture
  return new Turn(socket, JSON.parse(first) as Hello, reader);
}

interface Hello {
  readonly pid: number;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly prompt: string;
}

type Message = { readonly heard: string } | { readonly id: number; readonly answer: unknown };

interface Answer {
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: Error) => void;
}
