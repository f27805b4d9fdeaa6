import { instructionsFor, toolsFor } from '../mcp/tools.ts';
import { serve } from '../mcp/server.ts';
import { ownLoop } from '../loops/own-loop.ts';
import { version } from './version.ts';
import { workspaceOf } from './workspace.ts';

export interface McpOptions {
  readonly loop?: string;
  readonly cwd?: string;
}

/** `ralph mcp`: serves loops to an MCP client over stdio until it is gone. */
export async function mcp(options: McpOptions): Promise<number> {
  const workspace = workspaceOf(options);
  const own = ownLoop(options.loop ?? null, process.env);
  const tools = await toolsFor(workspace, own);
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  await serve({ version: version(), instructions: instructionsFor(own), tools }, stop.signal);
  return 0;
}
