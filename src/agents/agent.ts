import type { Cost, RunError, Tokens } from '../loop/event.ts';

/** How one CLI is called and how its stream is read: the port; the other files of this folder are its adapters. */
export interface Agent {
  readonly name: string;
  /** Reads one run's output. */
  read(): StreamParser;
}

export interface StreamParser {
  /** What this chunk says; the chunk is only lent. */
  push(chunk: Buffer): readonly AgentEvent[];
  /** What an unfinished last line says. */
  end(): readonly AgentEvent[];
}

/** What an agent does, whichever CLI it is. */
export type AgentEvent =
  /** Its own words; pieces of one message share its id. */
  | { readonly type: 'text'; readonly text: string; readonly message: string }
  /** It began to use a tool. */
  | { readonly type: 'tool.start'; readonly id: string; readonly name: string; readonly input: string }
  /** The tool is done. */
  | { readonly type: 'tool.end'; readonly id: string; readonly ok: boolean; readonly output: string }
  /** Its list of tasks. */
  | { readonly type: 'todo'; readonly items: readonly { readonly text: string; readonly done: boolean }[] }
  /** Something is going on; what has been used so far, where the stream says so. */
  | {
      readonly type: 'progress';
      readonly text: string;
      readonly tokens: Tokens | null;
      readonly cost: Cost | null;
    }
  /** The provider's limit. */
  | { readonly type: 'limit'; readonly resetsAt: number | null; readonly message: string }
  /** It says that it has finished; `text` is the final answer where the stream states it apart. */
  | {
      readonly type: 'result';
      readonly ok: boolean;
      readonly text: string | null;
      readonly tokens: Tokens | null;
      readonly cost: Cost | null;
      readonly error: RunError | null;
    }
  /** A line that means nothing to us: counted, never fatal. */
  | { readonly type: 'unknown'; readonly line: string };
