/** An agent that is a function: its context, its result, and their translation into the lines of a run. */
import type { ErrorKind, Tokens } from '../loop/event.ts';
import type { LoopRequest, TodoItem } from '../loops/loops.ts';

/** Does the work of one run. If it throws, the run fails with that error. */
export type AgentFunction = (context: AgentContext) => Promise<AgentResult> | AgentResult;

export interface AgentContext {
  readonly prompt: string;
  /** From 1. */
  readonly iteration: number;
  /** `7.1` is the first run of the seventh iteration; `7.2` retries it after a usage limit. */
  readonly run: string;
  /** The folder to work in. */
  readonly workspace: string;
  /** The names of the agent and its model in the spec. */
  readonly agent: string;
  readonly model: string | null;
  /** Pass it to the processes that you start: Ralph ends them with the run. */
  readonly env: Readonly<Record<string, string>>;
  /**
   * Aborted when the run must end: at `stop({ now: true })` and at a time limit. Ralph waits `killGrace` (5 seconds) for
   * the function to return, and ignores what it returns later.
   */
  readonly signal: AbortSignal;
  /** The folder of the run, with its prompt and its logs. */
  readonly folder: string;
  /** Reports progress. Ralph shows and logs it, and counts it as activity. */
  readonly report: (event: AgentReport) => void;
}

export interface AgentResult {
  /** The final answer; Ralph looks for the completion claim in it. */
  readonly text: string;
  readonly costUsd?: number | undefined;
  readonly tokens?: Partial<Tokens> | undefined;
  /** Number of steps (default: the number of reported tools). */
  readonly steps?: number | undefined;
  /** The reason why the run failed. */
  readonly error?: string | undefined;
  /** Exit code (default: 0, or 1 with an error). */
  readonly exitCode?: number | undefined;
}

/** What a function can report while it works. Tokens and cost are totals of the run so far. */
export type AgentReport =
  | { readonly type: 'text'; readonly text: string; readonly message?: string }
  | { readonly type: 'thought'; readonly text: string }
  | { readonly type: 'tool.start'; readonly id: string; readonly name: string; readonly input?: string }
  | { readonly type: 'tool.end'; readonly id: string; readonly ok?: boolean; readonly output?: string }
  | { readonly type: 'todo'; readonly items: readonly TodoItem[] }
  | {
      readonly type: 'progress';
      readonly text: string;
      readonly costUsd?: number;
      readonly tokens?: Partial<Tokens>;
    }
  | { readonly type: 'denied'; readonly tool: string; readonly message: string }
  /** A usage limit: the loop waits until it resets (milliseconds since 1970), which costs no iteration. */
  | { readonly type: 'limit'; readonly message: string; readonly resetsAt?: number };

/** How a loop calls it. */
export type Performer = NonNullable<LoopRequest['perform']>;
type Performed = Awaited<ReturnType<Performer>>;

/** Adapts the function to the host. */
export function performer(
  perform: AgentFunction,
  { name, model }: { readonly name: string; readonly model: string | null },
): Performer {
  return async (call) => {
    try {
      return ended(await perform(contextOf(call, name, model)));
    } catch (error) {
      return failed(error);
    }
  };
}

function contextOf(call: Parameters<Performer>[0], agent: string, model: string | null): AgentContext {
  return { ...call, iteration: Number.parseInt(call.run, 10), agent, model };
}

function ended(result: unknown): Performed {
  if (!isResult(result)) return failed(new TypeError('the agent function must return an object with `text`'));
  const { text, costUsd, tokens, steps, error, exitCode } = result;
  const ok = error === undefined;
  // The answer needs its own message id, because the reader joins texts of the same message.
  const answer = text === '' ? [] : [{ type: 'text', message: 'last', text }];
  return {
    events: [...answer, { type: 'result', ok, text, costUsd, tokens, steps, error }],
    stderr: '',
    code: exitCode ?? (ok ? 0 : 1),
  };
}

/** A run that counts as an attempt unless its error is fatal, by its kind or its text: an error of the network is not waited for. */
export class FailedAttempt extends Error {
  readonly kind: ErrorKind | undefined;

  constructor(cause: unknown, kind: ErrorKind | undefined) {
    super('the run failed', { cause });
    this.kind = kind;
  }
}

function failed(failure: unknown): Performed {
  const isAttempt = failure instanceof FailedAttempt;
  const thrown = isAttempt ? failure.cause : failure;
  const kind = isAttempt ? failure.kind : kindOf(thrown);
  const error = messageOf(thrown);
  const stack = thrown instanceof Error ? thrown.stack : undefined;
  return {
    events: [{ type: 'result', ok: false, steps: 0, error, kind, isAttempt }],
    stderr: `${stack ?? error}\n`,
    // Errors of Node.js have the exit code of a command in `code`, and those of `execFileSync` in `status`.
    code: field(thrown, 'exitCode') ?? field(thrown, 'code') ?? field(thrown, 'status') ?? 1,
  };
}

function isResult(value: unknown): value is AgentResult {
  return typeof value === 'object' && value !== null && 'text' in value && typeof value.text === 'string';
}

function messageOf(thrown: unknown): string {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return message.trim() === '' ? 'the agent function threw an error without a message' : message;
}

/** A program that the function cannot start makes the error fatal, as for any other agent. */
function kindOf(thrown: unknown): ErrorKind | undefined {
  const isSpawnError =
    thrown instanceof Error && 'syscall' in thrown && String(thrown.syscall).startsWith('spawn');
  if (!isSpawnError || !('code' in thrown)) return undefined;
  if (thrown.code === 'ENOENT') return 'command-not-found';
  return thrown.code === 'EACCES' || thrown.code === 'EPERM' ? 'not-executable' : undefined;
}

function field(thrown: unknown, name: string): number | undefined {
  if (typeof thrown !== 'object' || thrown === null) return undefined;
  const value: unknown = Reflect.get(thrown, name);
  return typeof value === 'number' && Number.isInteger(value) && value > 0 && value < 256 ? value : undefined;
}
