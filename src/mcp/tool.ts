/** A tool as data and a function, without the protocol; `server.ts` offers it to the client. */
import type * as z from 'zod';
import type { McpChange } from '../settings/settings.ts';

export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: z.ZodObject;
  readonly effect: keyof typeof HINTS;
  /** What the settings have to allow; null for a tool that needs no permission. */
  readonly change: McpChange | null;
  readonly run: (args: unknown, call: ToolCall) => Promise<Answer>;
}

/**
 * What a tool returns. Some clients show their model only the data of an answer that has any, others only the text. So an answer is
 * either a text, or data whose text is the same as JSON.
 */
export type Answer = { readonly text: string } | { readonly data: Readonly<Record<string, unknown>> };

/** Where a tool looks for the loop of this name, or for loops at all. */
export type WorkspaceOf = (name: string | null) => string;

export interface ToolCall {
  /** Aborts when the client cancels the call or is gone. */
  readonly signal: AbortSignal;
}

export function defineTool<Input extends z.ZodObject>(tool: {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: Input;
  readonly effect: keyof typeof HINTS;
  readonly change?: McpChange;
  readonly run: (args: z.output<Input>, call: ToolCall) => Promise<Answer>;
}): Tool {
  return {
    ...tool,
    change: tool.change ?? null,
    run: (args, call) => tool.run(tool.input.parse(args), call),
  };
}

/** What clients want to know before they call a tool: whether to ask their user first, and whether to call it again. */
export const HINTS = {
  reads: { readOnlyHint: true, openWorldHint: false },
  adds: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  switches: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  ends: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  /** An agent with the user's rights starts to work. */
  starts: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
} as const;
