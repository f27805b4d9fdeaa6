import { AGENT_NAMES } from '../agents/agents.ts';
import { findCommand } from '../process/command.ts';
import { UserError } from '../user-error.ts';

/** Says before anything is made that an agent cannot be started. */
export function checkCommand(
  argv: readonly string[],
  env: Readonly<Record<string, string>>,
  workspace: string,
): void {
  const [name = ''] = argv;
  const command = findCommand(name, env['PATH'] ?? '', workspace);
  if (command.found === 'nothing') {
    throw new UserError(
      `agent command not found: ${name === '' ? '""' : name} (looked in PATH${name.includes('/') ? ` and from ${workspace}` : ''}); install it or give its path`,
    );
  }
  if (command.found === 'not-executable') {
    throw new UserError(`agent command is not executable: ${command.path}; try: chmod +x ${command.path}`);
  }
}

export function checkAgentKind(kind: string): void {
  if (!AGENT_NAMES.includes(kind)) {
    throw new UserError(`--agent must be one of ${AGENT_NAMES.join(', ')}, got ${JSON.stringify(kind)}`);
  }
}
