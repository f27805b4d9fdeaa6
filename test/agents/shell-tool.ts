import { at, isRecord, items } from './json.ts';
import type { Call, Tool } from './protocols/protocol.ts';

/** The call of the shell tool among those that a question offers; null where it offers none. */
export function shellCall(command: string, tools: readonly Tool[], id: string): Call | null {
  const tool = tools.find(({ name }) => NAMES.has(name));
  if (tool === undefined) return null;
  const properties = at(tool.schema, 'properties');
  const argument = ARGUMENTS.find((name) => isRecord(properties) && name in properties);
  if (argument === undefined)
    throw new Error(`${tool.name} takes no command: ${JSON.stringify(tool.schema)}`);
  const required = items(at(tool.schema, 'required')).filter((name) => name !== argument);
  // Whatever else is required wants to know, in words, what the command is for.
  const rest = Object.fromEntries(required.map((name) => [String(name), 'work on the task']));
  return { id, name: tool.name, input: { ...rest, [argument]: command } };
}

const NAMES: ReadonlySet<string> = new Set(['Bash', 'bash', 'exec_command', 'run_shell_command']);
const ARGUMENTS: readonly string[] = ['command', 'cmd'];
