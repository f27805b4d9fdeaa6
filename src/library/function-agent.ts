/** An agent that is a function: what it gets, what it gives back, and how that becomes the lines of a run. */
import type { TodoItem } from '../agents/agent.ts';
import type { Call, Performed, Performer } from '../hosts/function.ts';
import type { ErrorKind, Tokens } from '../loop/event.ts';

/** Does one run's work. What it throws makes the run a failed one, with that error on record. */
export type AgentFunction = (context: AgentContext) => Promise<AgentResult> | AgentResult;

export interface AgentContext {
  readonly prompt: string;
  /** From 1. */
  readonly iteration: number;
  /** `7.1` is the first run of the seventh iteration; a run that met a usage limit is followed by `7.2`. */
  readonly run: string;
  /** Where the work is done. */
  readonly workspace: string;
  /** The names that the loop's spec has for the agent and its model. */
  readonly agent: string;
  readonly model: string | null;
  /** Give it to what you start: processes with it are ended when the run ends. */
  readonly env: Readonly<Record<string, string>>;
  /**
   * Aborted when the run has to end: at `stop({ now: true })`, and at a time limit. A function that goes on regardless is
   * left to itself after the grace (`killGrace`, 5 seconds), and what it returns then is ignored.
   */
  readonly signal: AbortSignal;
  /** The run's own folder, with its prompt and its logs. */
  readonly folder: string;
  /** Tells what is going on: it is shown and logged, and counts as activity. */
  readonly report: (event: AgentReport) => void;
}

export interface AgentResult {
  /** The agent's final words: claims are looked for in them. */
  readonly text: string;
  readonly costUsd?: number | undefined;
  readonly tokens?: Partial<Tokens> | undefined;
  /** How many steps it took; without it the tools that were reported are counted. */
  readonly steps?: number | undefined;
  /** Why the run failed. */
  readonly error?: string | undefined;
  /** What a process would have exited with; 0, or 1 with an error. */
  readonly exitCode?: number | undefined;
}

/** What a function can tell while it works. Tokens and cost are all of them so far, not what was added. */
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
  /** The provider's limit: the loop waits until it resets (milliseconds since 1970), and charges nothing. */
  | { readonly type: 'limit'; readonly message: string; readonly resetsAt?: number };

/** The function as the host calls it. */
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

function contextOf(call: Call, agent: string, model: string | null): AgentContext {
  return { ...call, iteration: Number.parseInt(call.run, 10), agent, model };
}

function ended(result: unknown): Performed {
  if (!isResult(result)) return failed(new TypeError('the agent function must return an object with `text`'));
  const { text, costUsd, tokens, steps, error, exitCode } = result;
  const ok = error === undefined;
  // Its own message: the answer of the result is read as another, and both must be whole.
  const said = text === '' ? [] : [{ type: 'text', message: 'last', text }];
  return {
    events: [...said, { type: 'result', ok, text, costUsd, tokens, steps, error }],
    complaint: '',
    code: exitCode ?? (ok ? 0 : 1),
  };
}

function failed(thrown: unknown): Performed {
  const error = messageOf(thrown);
  const stack = thrown instanceof Error ? thrown.stack : undefined;
  return {
    events: [{ type: 'result', ok: false, steps: 0, error, kind: kindOf(thrown) }],
    complaint: `${stack ?? error}\n`,
    code: field(thrown, 'exitCode') ?? 1,
  };
}

function isResult(value: unknown): value is AgentResult {
  return typeof value === 'object' && value !== null && 'text' in value && typeof value.text === 'string';
}

function messageOf(thrown: unknown): string {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return message.trim() === '' ? 'the agent function threw an error without a message' : message;
}

/** What the system said when the function tried to start something: as for any agent, trying again cannot help. */
function kindOf(thrown: unknown): ErrorKind | undefined {
  const isStart =
    thrown instanceof Error && 'syscall' in thrown && String(thrown.syscall).startsWith('spawn');
  if (!isStart || !('code' in thrown)) return undefined;
  if (thrown.code === 'ENOENT') return 'command-not-found';
  return thrown.code === 'EACCES' || thrown.code === 'EPERM' ? 'not-executable' : undefined;
}

function field(thrown: unknown, name: string): number | undefined {
  if (typeof thrown !== 'object' || thrown === null) return undefined;
  const value: unknown = Reflect.get(thrown, name);
  return typeof value === 'number' && Number.isInteger(value) && value > 0 && value < 256 ? value : undefined;
}
