import type { RunError, Tokens } from '../loop/event.ts';

/** How one CLI is called and how its stream is read: the port; the other files of this folder are its adapters. */
export interface Agent {
  readonly name: string;
  /** How it is called; null for a command that is given as a whole. */
  readonly call: AgentCall | null;
  /** What its stream tells of money: dollars, only tokens, or nothing. */
  readonly tells: 'cost' | 'tokens' | 'nothing';
  /** What to do about an error of this kind, for the user. */
  readonly remedies: Partial<Readonly<Record<RunError['kind'], string>>>;
  /** Reads one run's output. */
  read(run: RunFacts): StreamParser;
}

export interface AgentCall {
  /** The program, and what else it may be called. */
  readonly command: string;
  readonly install: string;
  /** The version that its adapter was tried with. */
  readonly triedVersion: string;
  /** Flags that let it work without asking; what the user gives takes their place. */
  readonly autonomous: readonly string[];
  /** Variables that it needs for that, e.g. as root. */
  readonly env: (uid: number) => Readonly<Record<string, string>>;
  /** How document 001 calls it: the flags of its table, and where the prompt goes; null where it does not know it. */
  readonly documented: { readonly flags: readonly string[]; readonly promptVia: PromptVia } | null;
  /** The flags that choose a model; null where there are none. */
  readonly model: ((model: string) => readonly string[]) | null;
  /** What of a command line the adapter says itself, so that it is not taken from the user a second time. */
  readonly own: {
    /** Sub-commands, which come first. */
    readonly commands: readonly string[];
    readonly flags: readonly string[];
    /** The option for the form of the output; with another value the user wants no stream of events. */
    readonly format: { readonly options: readonly string[]; readonly value: string } | null;
  };
  /** How the prompt reaches it where nobody says otherwise. */
  readonly promptVia: PromptVia;
  /** Everything behind the program; `prompt` is null when it comes by the standard input. */
  args(form: CallForm): readonly string[];
  /** The file of the run's folder that has the answer where plain text was asked for; absent where it is printed. */
  readonly answerFile?: string;
  /** The variables in which its credentials may be. */
  readonly credentials: readonly string[];
  /** Others that say whose account it is: where its settings lie, which server it asks. */
  readonly account: readonly string[];
}

export interface CallForm {
  /** A stream of events, or plain text (for commit messages). */
  readonly output: 'stream' | 'text';
  readonly flags: readonly string[];
  readonly prompt: string | null;
  /** A folder of this run's own. */
  readonly folder: string;
}

export type PromptVia = 'stdin' | 'file' | 'argument';

/** What a parser may need to know besides the bytes. */
export interface RunFacts {
  /** When the run was planned: times of day in its output are counted from there. */
  readonly startedAt: number;
  readonly folder: string;
}

export interface StreamParser {
  /** What this chunk says; the chunk is only lent. */
  push(chunk: Buffer): readonly AgentEvent[];
  /** What an unfinished last line says, and what it all came to. */
  end(): readonly AgentEvent[];
}

/** What an agent does, whichever CLI it is. */
export type AgentEvent =
  /** Its own words; pieces of one message share its id. */
  | {
      readonly type: 'text';
      readonly text: string;
      readonly message: string;
      /** It is our own prompt, printed once more. */
      readonly isEcho?: true;
    }
  /** What it says to itself, or a helper of it says to it: never a claim. */
  | { readonly type: 'thought'; readonly text: string }
  /** It began to use a tool; `input` is a summary. */
  | { readonly type: 'tool.start'; readonly id: string; readonly name: string; readonly input: string }
  /** The tool is done. */
  | { readonly type: 'tool.end'; readonly id: string; readonly ok: boolean; readonly output: string }
  /** Its list of tasks. */
  | { readonly type: 'todo'; readonly items: readonly TodoItem[] }
  /** Something is going on; what has been used so far, where the stream says so. */
  | {
      readonly type: 'progress';
      readonly text: string;
      readonly usage: Usage | null;
      readonly session: string | null;
    }
  /** The provider did not answer, and the CLI tries again by itself. */
  | {
      readonly type: 'retry';
      readonly attempt: number;
      readonly most: number | null;
      readonly waitMs: number | null;
      readonly error: RunError;
    }
  /** The provider's limit. */
  | { readonly type: 'limit'; readonly resetsAt: number | null; readonly message: string }
  /** It was not allowed to use a tool. */
  | { readonly type: 'denied'; readonly tool: string; readonly message: string }
  /** It says that it has finished; `text` is the final answer where the stream states it apart. */
  | {
      readonly type: 'result';
      readonly ok: boolean;
      readonly text: string | null;
      readonly usage: Usage | null;
      readonly session: string | null;
      readonly error: RunError | null;
      /** How many steps it took, where it counts them itself. */
      readonly steps?: number;
    }
  /** A line that means nothing to us: counted, never fatal. One that is no JSON is shown as it is. */
  | { readonly type: 'unknown'; readonly line: string; readonly isPlain: boolean };

export interface TodoItem {
  readonly text: string;
  readonly status: 'pending' | 'active' | 'done';
  readonly priority: string | null;
}

/** What was used so far: all of it, not what was added. */
export interface Usage {
  readonly parts: readonly ModelUsage[];
  /** What the provider says it costs. */
  readonly costUsd: number | null;
  /** Counted from the beginning of the session, which may lie in an earlier run. */
  readonly isWholeSession: boolean;
}

export interface ModelUsage {
  readonly model: string | null;
  readonly tokens: Tokens;
}
