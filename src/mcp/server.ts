/**
 * The MCP server of `ralph mcp`: offers tools to one client over stdio.
 *
 * 1. stdout carries the protocol and nothing else.
 * 2. An error that the user can fix is an answer with `isError`: the model reads it and can act on it. Arguments that do not fit
 *    the schema of a tool are one too; a tool that does not exist is an error of the protocol.
 * 3. A line of more than 8 MB is an error of the protocol, and does not end the connection.
 * 4. The end of stdin ends the server and every call that still runs. A call keeps nothing of its own beyond that.
 */
import { once } from 'node:events';
import { McpServer, type CallToolResult } from '@modelcontextprotocol/server';
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { sizeText } from '../loop/counted.ts';
import { isRecord } from '../loop/shape.ts';
import { maskHere } from '../loops/here.ts';
import type { Mask } from '../loops/loops.ts';
import { systemErrorText, UserError } from '../user-error.ts';
import { BoundedLines, MAX_LINE_BYTES } from './bounded-lines.ts';
import { MAX_CHARS, shownData, shownText } from './text.ts';
import { HINTS, type Answer, type Tool, type ToolCall } from './tool.ts';

export interface Served {
  readonly version: string;
  /** What the client should tell its model about the tools. */
  readonly instructions: string;
  readonly tools: readonly Tool[];
}

/** Serves one client until it is gone, or until `stop` aborts. */
export async function serve(served: Served, stop: AbortSignal): Promise<void> {
  const calls = new Set<Promise<unknown>>();
  const wire = new Wire();
  const connection = serveStdio(() => serverOf(served, calls), { transport: wire });
  const close = (): void => void connection.close();
  stop.addEventListener('abort', close);
  if (stop.aborted) close();
  await wire.closed;
  stop.removeEventListener('abort', close);
  await Promise.allSettled(calls);
}

/** Tells when the client is gone, also before its first message. */
class Wire extends StdioServerTransport {
  readonly #gone = new AbortController();
  readonly #lines: BoundedLines;

  constructor() {
    const lines = new BoundedLines((id) => void this.#refuse(id));
    super(lines);
    this.#lines = lines;
    process.stdin.on('error', (error) => lines.destroy(error));
    process.stdin.pipe(lines);
  }

  get closed(): Promise<unknown> {
    return this.#gone.signal.aborted ? Promise.resolve() : once(this.#gone.signal, 'abort');
  }

  override async close(): Promise<void> {
    // An open stdin would keep the process alive.
    process.stdin.unpipe(this.#lines).pause();
    await super.close();
    this.#gone.abort();
  }

  /** Answers a line that is too long to be read. */
  #refuse(id: string | number | null): Promise<void> {
    const message = `the line is longer than ${sizeText(MAX_LINE_BYTES)}; send less at once`;
    const error = { code: INVALID_REQUEST, message };
    return this.send({ jsonrpc: '2.0', ...(id === null ? {} : { id }), error });
  }
}

/** Of JSON-RPC. */
const INVALID_REQUEST = -32_600;

function serverOf({ version, instructions, tools }: Served, calls: Set<Promise<unknown>>): McpServer {
  const server = new McpServer(
    { name: 'ralph', title: 'Ralph', version },
    { instructions, capabilities: { tools: {} } },
  );
  for (const tool of tools) {
    const { name, title, description, input } = tool;
    server.registerTool(
      name,
      { title, description, inputSchema: input, annotations: HINTS[tool.effect] },
      (args: unknown, context) => {
        const result = resultOf(tool, args, { signal: context.mcpReq.signal });
        calls.add(result);
        void result.finally(() => calls.delete(result));
        return result;
      },
    );
  }
  return server;
}

async function resultOf(tool: Tool, args: unknown, call: ToolCall): Promise<CallToolResult> {
  const mask = maskHere();
  try {
    return shown(await tool.run(args, call), mask);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const isKnown = error instanceof UserError;
    const text = isKnown
      ? error.message
      : 'code' in error
        ? systemErrorText(error, null)
        : `internal error: ${error.message}`;
    return { content: [{ type: 'text', text: shownText(text, mask) }], isError: true };
  }
}

function shown(answer: Answer, mask: Mask): CallToolResult {
  if ('text' in answer) return { content: [{ type: 'text', text: shownText(answer.text, mask) }] };
  const data = shownData(answer.data, mask);
  const text = JSON.stringify(data, null, 2);
  return {
    content: [{ type: 'text', text: shownText(text, mask) }],
    // A part of JSON is none.
    ...(text.length <= MAX_CHARS && isRecord(data) ? { structuredContent: { ...data } } : {}),
  };
}
