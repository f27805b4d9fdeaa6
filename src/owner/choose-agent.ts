/** Which agent works, and how it is called: from what a user wrote, or a message that says what is wrong with it. */
import type { Agent, PromptVia } from '../agents/agent.ts';
import { AGENTS, agentFor, agentNamed } from '../agents/agents.ts';
import { flagsFrom, mayAskForPermission } from '../agents/call.ts';
import type { Spec } from '../store/spec.ts';
import { splitWords } from '../loop/words.ts';
import type { Policy } from '../loop/policy.ts';
import { findCommand } from '../process/command.ts';
import { UserError } from '../user-error.ts';
import { documentedFlags, documentedWay } from './documented-call.ts';
import { closest } from '../config/closest.ts';
import type { AgentSettings } from '../config/config.ts';

export interface AgentChoice {
  /** The adapter's name; null where the command tells it. */
  readonly agent: string | null;
  readonly model: string | null;
  /** What stands behind `--`. */
  readonly command: readonly string[];
  readonly promptVia: PromptVia | null;
  readonly drop: readonly string[];
  /** The names of variables that come with it. */
  readonly given: readonly string[];
}

export async function chooseAgent(
  choice: AgentChoice,
  calls: Policy['calls'],
  env: Readonly<Record<string, string>>,
  workspace: string,
): Promise<Spec['agent']> {
  const { command, model, drop, given } = choice;
  const { agent, program, flags } = callOf(choice, env, workspace);
  checkProgram(agent, program, env, workspace, command.length > 0);
  const modelFlags = model === null ? [] : modelOf(agent, model);
  const isDocumented = calls === 'documented';
  const documented = isDocumented ? await documentedFlags(agent, program, env, workspace) : null;
  const power = documented ?? (flags === null ? (agent.call?.autonomous ?? []) : []);
  const promptVia = choice.promptVia ?? (isDocumented ? documentedWay(agent) : null);
  const own = agent.call?.env(process.getuid?.() ?? -1) ?? {};
  return {
    kind: agent.name,
    argv: [
      program,
      ...power.filter((flag) => flags?.includes(flag) !== true),
      ...(flags ?? []),
      ...modelFlags,
    ],
    ...(model === null ? {} : { model }),
    ...(promptVia === null ? {} : { promptVia }),
    ...(drop.length === 0 ? {} : { drop }),
    ...(given.length === 0 ? {} : { given }),
    ...(Object.keys(own).length === 0 ? {} : { env: own }),
  };
}

/** What the command line leaves open, as the settings files say; they speak of the agent that they name. */
export function withSettings(choice: AgentChoice, settings: AgentSettings): AgentChoice {
  const { name = null, command = null, flags, model = null, promptVia = null } = settings;
  if (choice.command.length > 0 || speaksOfAnother(settings, choice.agent)) return choice;
  const agent = choice.agent ?? name;
  const program = command ?? (agent === null ? null : (agentFor(agent).call?.command ?? null));
  const hasCommand = program !== null && (command !== null || flags !== undefined);
  return {
    ...choice,
    agent,
    // `--model opus` is two words to whoever gets it.
    command: hasCommand ? [program, ...(flags ?? []).flatMap((flag) => splitWords(flag) ?? [flag])] : [],
    model: choice.model ?? model,
    promptVia: choice.promptVia ?? promptVia,
  };
}

/** Whether settings name another agent than the one that was chosen. */
export function speaksOfAnother({ name, command }: AgentSettings, chosen: string | null): boolean {
  const named = name ?? (command === undefined ? null : agentFor(command).name);
  return chosen !== null && named !== null && named !== chosen;
}

/** What a user should know of the agent that they have chosen. */
export function notesOn({ kind, argv }: Spec['agent']): readonly string[] {
  const agent = agentNamed(kind);
  return agent.call !== null && mayAskForPermission(agent, argv)
    ? [
        `note: ${kind} has to ask before it does anything, and nobody answers; --agent ${kind} lets it work (${agent.call.autonomous.join(' ')})`,
      ]
    : [];
}

interface Call {
  readonly agent: Agent;
  readonly program: string;
  /** Those of the user; null where there are none. */
  readonly flags: readonly string[] | null;
}

function callOf(
  { agent: name, command }: AgentChoice,
  env: Readonly<Record<string, string>>,
  workspace: string,
): Call {
  if (name !== null) checkName(name);
  const [program, ...more] = command;
  const agent = name === null ? (program === undefined ? null : agentFor(program)) : agentNamed(name);
  if (agent === null) throw noAgent(env, workspace);
  if (program === undefined) {
    if (agent.call === null) {
      throw new UserError(
        `the agent ${agent.name} needs its command behind --, for example: ralph run "fix the tests" --agent ${agent.name} -- ./my-agent`,
      );
    }
    return { agent, program: agent.call.command, flags: null };
  }
  if (agent.call === null) return { agent, program, flags: more };
  // Named and nothing else: called as with --agent. With flags of one's own: those, and no others that give it power.
  if (more.length === 0) return { agent, program, flags: null };
  const flags = flagsFrom(agent, more);
  return flags === null ? { agent: agentNamed('custom'), program, flags: more } : { agent, program, flags };
}

function checkName(name: string): void {
  const names = AGENTS.map((agent) => agent.name);
  if (names.includes(name)) return;
  // It is for demonstrations, tests and those who have read of it.
  const shown = names.filter((known) => known !== 'scripted');
  const near = closest(name, shown);
  const guess = near === null ? '' : ` (did you mean ${near}?)`;
  throw new UserError(`unknown agent ${JSON.stringify(name)}${guess}; known are ${shown.join(', ')}`);
}

/** The agents that we know and that are there. */
function installedAgents(env: Readonly<Record<string, string>>, workspace: string): readonly string[] {
  return AGENTS.flatMap(({ name, call }) =>
    call !== null && findCommand(call.command, env['PATH'] ?? '', workspace).found === 'executable'
      ? [name]
      : [],
  );
}

export function firstInstalled(env: Readonly<Record<string, string>>, workspace: string): string | null {
  return installedAgents(env, workspace)[0] ?? null;
}

function noAgent(env: Readonly<Record<string, string>>, workspace: string): UserError {
  const installed = installedAgents(env, workspace);
  const hint =
    installed.length === 0
      ? 'none that ralph knows is installed; ralph agents tells how'
      : `installed here: ${installed.join(', ')}`;
  return new UserError(
    `no agent: say which with --agent ${installed[0] ?? 'claude'}, or put a command behind --; without these agent.command must be configured in settings file, which ralph init writes (${hint})`,
  );
}

function modelOf(agent: Agent, model: string): readonly string[] {
  const flags = agent.call?.model ?? null;
  if (flags !== null) return flags(model);
  throw new UserError(
    agent.call === null
      ? '--model works with agents that ralph knows; put the model into the command behind --'
      : `${agent.name} has no option for a model`,
  );
}

/** Says before anything is made that an agent cannot be started. */
function checkProgram(
  agent: Agent,
  program: string,
  env: Readonly<Record<string, string>>,
  workspace: string,
  isGiven: boolean,
): void {
  const found = findCommand(program, env['PATH'] ?? '', workspace);
  if (found.found === 'not-executable') {
    throw new UserError(`agent command is not executable: ${found.path}; try: chmod +x ${found.path}`);
  }
  if (found.found === 'executable') return;
  const where = `looked in PATH${program.includes('/') ? ` and from ${workspace}` : ''}`;
  const shown = program === '' ? '""' : program;
  if (agent.call === null) {
    throw new UserError(`agent command not found: ${shown} (${where}); install it or give its path`);
  }
  throw new UserError(
    `${isGiven ? `agent command not found: ${shown}` : `${agent.name} is not installed`} (${where}); install it with: ${agent.call.install}`,
  );
}
