import { Client, type CallToolResult, type Tool } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { onTestFinished } from 'vitest';

/** Starts `ralph mcp` and connects the official client to it, until the test ends. */
export async function connectMcp(server: McpServerCall): Promise<McpRig> {
  const { main, cwd, env, args = [] } = server;
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [main, 'mcp', ...args],
    cwd,
    env: { ...env },
    stderr: 'pipe',
  });
  const rig = new McpRig(transport);
  onTestFinished(() => rig.close());
  await rig.client.connect(transport);
  return rig;
}

export interface McpServerCall {
  /** The built command. */
  readonly main: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
}

export class McpRig {
  readonly client: Client = new Client({ name: 'test', version: '1' });
  readonly #transport: StdioClientTransport;
  stderr = '';

  constructor(transport: StdioClientTransport) {
    this.#transport = transport;
    transport.stderr?.on('data', (chunk: Buffer) => (this.stderr += chunk.toString()));
  }

  get pid(): number {
    return this.#transport.pid ?? 0;
  }

  async tools(): Promise<readonly Tool[]> {
    return (await this.client.listTools()).tools;
  }

  /** The text of a tool's answer; fails if it is an error. */
  async says(name: string, args: Readonly<Record<string, unknown>> = {}): Promise<string> {
    const { text, isError } = await this.call(name, args);
    if (isError) throw new Error(`${name} failed: ${text}`);
    return text;
  }

  /** The text of a tool's error; fails if it is none. */
  async refuses(name: string, args: Readonly<Record<string, unknown>> = {}): Promise<string> {
    const { text, isError } = await this.call(name, args);
    if (!isError) throw new Error(`${name} did not fail: ${text}`);
    return text;
  }

  async call(
    name: string,
    args: Readonly<Record<string, unknown>> = {},
    signal?: AbortSignal,
  ): Promise<Called> {
    const options = signal === undefined ? {} : { signal };
    const result: CallToolResult = await this.client.callTool({ name, arguments: { ...args } }, options);
    const text = result.content
      .map((part) => (part.type === 'text' ? part.text : `<${part.type}>`))
      .join('\n');
    return { text, isError: result.isError === true, data: result.structuredContent };
  }

  /** Ends the input of the server, as a client does that exits. */
  close(): Promise<void> {
    return this.client.close();
  }
}

export interface Called {
  readonly text: string;
  readonly isError: boolean;
  readonly data: unknown;
}
