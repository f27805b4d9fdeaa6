import { at, isRecord, items } from './json.ts';
import type { Call, Tool } from './protocols/protocol.ts';

/** A call of the shell tool among the tools of a question; null if there is none. */
export function shellCall(command: string, tools: readonly Tool[], id: string): Call | null {
  const tool = tools.find(({ name }) => TOOL_NAMES.has(name));
  if (tool === undefined) return null;
  const properties = at(tool.schema, 'properties');
  const argument = ARGUMENTS.find((name) => isRecord(properties) && name in properties);
  if (argument === undefined)
    throw new Error(`the tool ${tool.name} has no command argument: ${JSON.stringify(tool.schema)}`);
  const required = items(at(tool.schema, 'required')).filter((name) => name !== argument);
  // The other required arguments describe what the command is for.
  const rest = Object.fromEntries(required.map((name) => [String(name), 'work on the task']));
  return { id, name: tool.name, input: { ...rest, [argument]: command } };
}

const TOOL_NAMES: ReadonlySet<string> = new Set(['Bash', 'bash', 'exec_command', 'run_shell_command']);
const ARGUMENTS: readonly string[] = ['command', 'cmd'];
