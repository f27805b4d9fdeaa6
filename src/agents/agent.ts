import type { RunError, Tokens, UsageLimit } from '../loop/event.ts';
import type { Environment } from '../process/process.ts';

/** How one CLI is called and how its output is read: the port. The other files of this folder are its adapters. */
export interface Agent {
  readonly name: string;
  /** How it is called; null if the user gives the complete command. */
  readonly call: AgentCall | null;
  /** What its stream reports about usage: cost and tokens, tokens only, or nothing. */
  readonly reports: 'cost' | 'tokens' | 'nothing';
  /** What the user of this CLI can do about an error of this kind; appended to its message. */
  readonly remedies: Partial<Readonly<Record<RunError['kind'], string>>>;
  /** Its stream reports no answer of its own: the text of its result repeats its last message. */
  readonly repeatsAnswer?: true;
  /** Creates a parser for the output of one run. */
  read(run: RunFacts): StreamParser;
  /** Reads a line of stderr that has the reason of a retry; absent if the stream has it. */
  readComplaint?(line: string, run: RunFacts): Complaint | null;
  /** How the lines of a log begin that it prints on stderr only because the adapter asks for it; absent if it has none. */
  readonly ownLog?: OwnLog;
  /** Reads the usage that the CLI records in files of its own while it runs; absent if its output has all of it. */
  record?(run: RecordedRun): UsageRecord;
}

export type Retry = Extract<AgentEvent, { type: 'retry' }>;

/** A retry that stderr reports; `attempt` is null if the CLI does not count, and Ralph does. */
export interface Complaint extends Omit<Retry, 'type' | 'attempt'> {
  readonly attempt: number | null;
  /** The stream reports the same retry. */
  readonly isRepeated?: true;
}

export interface OwnLog {
  /** The first characters of every line. */
  readonly prefix: string;
  /** The flag with which a user asks for the log, to see it. */
  readonly flag: string;
}

export interface DocumentedCall {
  /** The flags of the table. */
  readonly flags: readonly string[];
  /** What a program that has dropped these flags gets instead: flags that give it the same permissions. */
  readonly substitutes?: readonly string[];
  readonly promptVia: PromptVia;
}

export interface AgentCall {
  /** The name of its program. */
  readonly command: string;
  readonly install: string;
  /** The version that the adapter was tested with. */
  readonly triedVersion: string;
  /** Flags that let it work without asking for permission; flags of the user replace them. */
  readonly autonomous: readonly string[];
  /** Matches an argument of the user that decides what it may do; Ralph then adds no flag of that kind in any preset. */
  readonly permissions: RegExp;
  /** Environment variables that it needs for that, for example as root. */
  readonly env: (uid: number) => Environment;
  /** The call in document 001; null if the agent is not in its table. */
  readonly documented: DocumentedCall | null;
  /** The flags that select a model; null if it has none. */
  readonly model: ((model: string) => readonly string[]) | null;
  /** What the adapter adds to the command line itself; it is removed from the user's flags. */
  readonly own: {
    /** Subcommands, in the first position. */
    readonly commands: readonly string[];
    readonly flags: readonly string[];
    /** The option for the output format; with another value the user does not want a stream of events. */
    readonly format: { readonly options: readonly string[]; readonly value: string } | null;
  };
  /** How it gets its prompt by default. */
  readonly promptVia: PromptVia;
  /** All arguments of the program; `prompt` is null if it is passed on stdin. */
  args(form: CallForm): readonly string[];
  /** The file in the run's folder with the answer in text mode; absent if the answer is printed. */
  readonly answerFile?: string;
  /** Environment variables that may hold its credentials. */
  readonly credentials: readonly string[];
  /** Other environment variables that determine the account: its settings folder, its server. */
  readonly account: readonly string[];
  /** Its own files: a sandbox leaves them writable, except the settings in them. */
  readonly files: readonly OwnFiles[];
  /** Its settings, hooks and MCP servers in a workspace: a sandbox leaves them unchanged, since it executes them later. */
  readonly projectFiles: readonly string[];
  /** The file that a login writes; null if it is kept where no other program can look. */
  readonly login: LoginFile | null;
}

export interface OwnFiles {
  /** The environment variable that names the folder, and the folder below the home without it. */
  readonly folder: { readonly variable: string | null; readonly below: string };
  /** The folder or file in it; absent for the folder itself. */
  readonly path?: string;
  /** Its own program, which it unpacks there if it is missing: never writable. */
  readonly isProgram?: true;
  /** What it obeys or executes the next time it is started: settings, hooks, MCP servers, instructions, scripts. */
  readonly settings: readonly string[];
  /** What it obeys or executes, too, and makes itself where it is missing: read-only only where it exists. */
  readonly made?: readonly string[];
  /** Folders in it with such files; they are made if they are missing. */
  readonly settingsFolders: readonly string[];
}

/** Of a folder that has none. */
export const NO_SETTINGS: Pick<OwnFiles, 'settings' | 'settingsFolders'> = {
  settings: [],
  settingsFolders: [],
};

export interface LoginFile {
  /** The environment variable that names its folder, and the folder below the home without it. */
  readonly folder: { readonly variable: string | null; readonly below: string };
  readonly path: string;
  /** Whether an agent without this file and without a key cannot work; it may know other places. */
  readonly isOnlyPlace: boolean;
}

export interface CallForm {
  /** A stream of events, or plain text for the commit messages of document 001; only agents of its table have that. */
  readonly output: 'stream' | 'text';
  readonly flags: readonly string[];
  readonly prompt: string | null;
  /** The agent's own folder of this run. */
  readonly folder: string;
}

export type PromptVia = 'stdin' | 'file' | 'argument';

/** What a parser needs in addition to the output. */
export interface RunFacts {
  /** When the run was planned; times of day in its output are relative to it. */
  readonly startedAt: number;
  /** Where Ralph keeps the prompt of the run and its output. */
  readonly folder: string;
}

/** A run whose CLI records its usage. */
export interface RecordedRun extends RunFacts {
  /** The agent's own folder of this run. */
  readonly workspaceFolder: string;
  /** The agent's environment: it decides where the CLI keeps its files. */
  readonly env: Environment;
}

export interface UsageRecord {
  /** Reads what was added since the last call, and returns the usage so far; null if there is none. */
  read(output: KnownOutput): Usage | null;
}

/** What the output of a run has told so far. */
export interface KnownOutput {
  /** The id of its session; null if the output does not report it. */
  readonly session: string | null;
  /** The beginning of stderr. */
  readonly stderr: string;
}

export interface StreamParser {
  /** Returns the events in this chunk. The chunk is valid only during the call. */
  push(chunk: Buffer): readonly AgentEvent[];
  /** Returns the events in an unfinished last line, and the result if the stream has none. */
  end(): readonly AgentEvent[];
}

/** What an agent does, in the same terms for every CLI. */
export type AgentEvent =
  /** The agent's own text; pieces of one message share its id. */
  | {
      readonly type: 'text';
      readonly text: string;
      readonly message: string;
      /** The CLI printed our prompt. */
      readonly isEcho?: true;
    }
  /** Reasoning, or text of a subagent: never a claim. */
  | { readonly type: 'thought'; readonly text: string }
  /** A tool call started; `input` is a summary. */
  | { readonly type: 'tool.start'; readonly id: string; readonly name: string; readonly input: string }
  /** The tool call ended. */
  | { readonly type: 'tool.end'; readonly id: string; readonly ok: boolean; readonly output: string }
  /** The agent's to-do list. */
  | { readonly type: 'todo'; readonly items: readonly TodoItem[] }
  /** A sign of progress, with the usage so far if the stream reports it. */
  | {
      readonly type: 'progress';
      readonly text: string;
      readonly usage: Usage | null;
      readonly session: string | null;
    }
  /** A request to the provider failed, and the CLI retries it by itself. */
  | {
      readonly type: 'retry';
      readonly attempt: number;
      readonly most: number | null;
      readonly waitMs: number | null;
      readonly error: RunError;
      /** The reason is a usage limit; absent otherwise. */
      readonly limit?: UsageLimit;
      /** The CLI retries at once and never gives up. */
      readonly isEndless?: true;
    }
  /** The provider's usage limit is reached. */
  | { readonly type: 'limit'; readonly resetsAt: number | null; readonly message: string }
  /** The agent was not allowed to use a tool. */
  | { readonly type: 'denied'; readonly tool: string; readonly message: string }
  /** The CLI reports that it has finished; `text` is the final answer if the stream has it separately. */
  | {
      readonly type: 'result';
      readonly ok: boolean;
      readonly text: string | null;
      readonly usage: Usage | null;
      readonly session: string | null;
      readonly error: RunError | null;
      /** The text repeats the last message, which has no id. */
      readonly repeatsMessage?: true;
      /** The number of steps, if the agent counts them itself. */
      readonly steps?: number;
      /** Identifies the answer of a turn without a tool call. */
      readonly answer?: string;
    }
  /** A line that the adapter does not know: counted, never fatal. A line that is not JSON is shown unchanged. */
  | { readonly type: 'unknown'; readonly line: string; readonly isPlain: boolean };

export interface TodoItem {
  readonly text: string;
  readonly status: 'pending' | 'active' | 'done';
  readonly priority: string | null;
}

/** The total usage so far, not the increment. */
export interface Usage {
  readonly parts: readonly ModelUsage[];
  /** The cost as reported by the provider. */
  readonly costUsd: number | null;
  /** Counted from the start of the session, which may be in an earlier run. */
  readonly isWholeSession: boolean;
}

export interface ModelUsage {
  readonly model: string | null;
  readonly tokens: Tokens;
  /** Output tokens that are not reported, estimated from the text; absent for none. */
  readonly estimatedOutput?: number;
}

/** Whether the event shows that the agent works, and not only that its CLI retries or gives up. */
export function isWork(event: AgentEvent): boolean {
  switch (event.type) {
    case 'text':
      return event.isEcho !== true;
    case 'result':
      return event.ok;
    case 'retry':
    case 'unknown':
      return false;
    case 'thought':
    case 'tool.start':
    case 'tool.end':
    case 'todo':
    case 'progress':
    case 'limit':
    case 'denied':
      return true;
  }
}
