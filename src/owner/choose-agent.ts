/** Chooses the agent of a loop and its command line from the flags and settings of the user, or says what is wrong with them. */
import type { Agent, PromptVia } from '../agents/agent.ts';
import { agentFor, agentNamed, ALL_AGENTS } from '../agents/agents.ts';
import { decidesPermissions, flagsFrom } from '../agents/call.ts';
import type { Spec } from '../home/spec.ts';
import { splitWords } from '../loop/words.ts';
import type { Policy } from '../loop/policy.ts';
import { findCommand } from '../process/command.ts';
import { shellQuote } from '../loop/shell-quote.ts';
import { UserError } from '../user-error.ts';
import { NoAgentSelected } from './refusals.ts';
import { closest } from '../settings/closest.ts';
import type { AgentSettings } from '../settings/settings.ts';
import { exec } from '../process/exec.ts';
import type { Environment } from '../process/process.ts';

export interface AgentChoice {
  /** The name of the adapter; null if the command determines it. */
  readonly agent: string | null;
  readonly model: string | null;
  /** The command after `--`. */
  readonly command: readonly string[];
  readonly promptVia: PromptVia | null;
  readonly drop: readonly string[];
  /** The names of the variables given with `--env`. */
  readonly given: readonly string[];
  /** Notes for the error that no agent is selected: why settings that may select one are not used. */
  readonly unused?: readonly string[];
}

export async function chooseAgent(
  choice: AgentChoice,
  { calls, host }: Pick<Policy, 'calls' | 'host'>,
  env: Environment,
  workspace: string,
): Promise<Spec['agent']> {
  if (host === 'tmux') return interactiveAgent(choice, env, workspace);
  const { command, model, drop, given } = choice;
  const { agent, program, flags } = callOf(choice, env, workspace);
  checkProgram(agent, program, env, workspace, command.length > 0);
  const modelFlags = model === null ? [] : flagsForModel(agent, model);
  const isDocumented = calls === 'documented';
  const documented = isDocumented ? await documentedFlags(agent, program, env, workspace) : null;
  const ours = documented ?? (flags === null ? (agent.call?.autonomous ?? []) : []);
  // The user decides what the agent may do, in every preset.
  const permissionFlags = decidesPermissions(agent, flags ?? []) ? [] : ours;
  const promptVia = choice.promptVia ?? (isDocumented ? documentedPromptVia(agent) : null);
  const agentEnv = agent.call?.env(process.getuid?.() ?? -1) ?? {};
  return {
    kind: agent.name,
    argv: [
      program,
      ...permissionFlags.filter((flag) => flags?.includes(flag) !== true),
      ...(flags ?? []),
      ...modelFlags,
    ],
    ...(model === null ? {} : { model }),
    ...(promptVia === null ? {} : { promptVia }),
    ...(drop.length === 0 ? {} : { drop }),
    ...(given.length === 0 ? {} : { given }),
    ...(Object.keys(agentEnv).length === 0 ? {} : { env: agentEnv }),
  };
}

/** An agent in a terminal: its command as the user gives it. What it prints is for people, so no adapter reads it. */
function interactiveAgent(choice: AgentChoice, env: Environment, workspace: string): Spec['agent'] {
  const { command, model, drop, given } = choice;
  const { agent, program } = callOf(choice, env, workspace);
  checkProgram(agent, program, env, workspace, command.length > 0);
  if (choice.promptVia !== null)
    throw new UserError(
      'cannot use --prompt-via with an interactive agent: its prompt is pasted into its terminal',
    );
  return {
    kind: 'custom',
    argv: [program, ...command.slice(1), ...(model === null ? [] : flagsForModel(agent, model))],
    ...(drop.length === 0 ? {} : { drop }),
    ...(given.length === 0 ? {} : { given }),
  };
}

/** Completes the choice of the command line from the settings, unless they are for another agent. */
export function withSettings(choice: AgentChoice, settings: AgentSettings): AgentChoice {
  const { name = null, command = null, flags, model = null, promptVia = null } = settings;
  if (choice.command.length > 0 || isForOtherAgent(settings, choice.agent)) return choice;
  const agent = choice.agent ?? name;
  const program = command ?? (agent === null ? null : (agentFor(agent).call?.command ?? null));
  const hasCommand = program !== null && (command !== null || flags !== undefined);
  return {
    ...choice,
    agent,
    // A flag such as `--model opus` is two arguments.
    command: hasCommand ? [program, ...(flags ?? []).flatMap((flag) => splitWords(flag) ?? [flag])] : [],
    model: choice.model ?? model,
    promptVia: choice.promptVia ?? promptVia,
  };
}

/** Whether the settings are for another agent than the chosen one. */
export function isForOtherAgent({ name, command }: AgentSettings, chosen: string | null): boolean {
  const named = name ?? (command === undefined ? null : agentFor(command).name);
  return chosen !== null && named !== null && named !== chosen;
}

/** What the user should know about the chosen agent. */
export function notesOn({ kind, argv }: Spec['agent']): readonly string[] {
  const agent = agentNamed(kind);
  const [program = '', ...flags] = argv;
  if (agent.call === null || decidesPermissions(agent, flags)) return [];
  const missing = agent.call.autonomous.join(' ');
  return [
    `note: ${kind} may not be allowed to edit files and run commands, and a loop has no one to ask; to allow that, add ${missing} to its flags: after -- (-- ${program} ${missing}), or in agent.flags`,
  ];
}

interface Call {
  readonly agent: Agent;
  readonly program: string;
  /** The flags of the user; null if there are none. */
  readonly flags: readonly string[] | null;
}

function callOf(
  { agent: name, command, unused = [] }: AgentChoice,
  env: Environment,
  workspace: string,
): Call {
  if (name !== null) checkName(name);
  const [program, ...more] = command;
  const agent = name === null ? (program === undefined ? null : agentFor(program)) : agentNamed(name);
  if (agent === null) throw noAgentSelected(unused, env, workspace);
  if (program === undefined) {
    if (agent.call === null) {
      throw new UserError(
        `the agent ${agent.name} needs a command after --, for example: ralph run "fix the tests" --agent ${agent.name} -- ./my-agent`,
      );
    }
    return { agent, program: agent.call.command, flags: null };
  }
  if (agent.call === null) return { agent, program, flags: more };
  // `-- claude` means `--agent claude`. Flags of the user replace those that grant permissions.
  if (more.length === 0) return { agent, program, flags: null };
  const flags = flagsFrom(agent, more);
  return flags === null ? { agent: agentNamed('custom'), program, flags: more } : { agent, program, flags };
}

function checkName(name: string): void {
  const names = ALL_AGENTS.map((agent) => agent.name);
  if (names.includes(name)) return;
  // The agent `scripted` is for demos and tests.
  const shown = names.filter((known) => known !== 'scripted');
  const near = closest(name, shown);
  const guess = near === null ? '' : ` (did you mean ${near}?)`;
  throw new UserError(`unknown agent ${JSON.stringify(name)}${guess}; known agents: ${shown.join(', ')}`);
}

function installedAgents(env: Environment, workspace: string): readonly string[] {
  return ALL_AGENTS.flatMap(({ name, call }) =>
    call !== null && findCommand(call.command, env['PATH'] ?? '', workspace).found === 'executable'
      ? [name]
      : [],
  );
}

export function firstInstalled(env: Environment, workspace: string): string | null {
  return installedAgents(env, workspace)[0] ?? null;
}

function noAgentSelected(unused: readonly string[], env: Environment, workspace: string): UserError {
  const installed = installedAgents(env, workspace);
  const hint =
    installed.length === 0
      ? 'no known agent is installed; to install one, see: ralph agents'
      : `installed: ${installed.join(', ')}`;
  // Document 001 prescribes the words about agent.command.
  const message = `no agent selected: pass --agent ${installed[0] ?? 'claude'} or a command after --; without these agent.command must be configured in settings file, which ralph init writes (${hint})`;
  return new NoAgentSelected([message, ...unused].join('; '));
}

function flagsForModel(agent: Agent, model: string): readonly string[] {
  const flags = agent.call?.model ?? null;
  if (flags !== null) return flags(model);
  throw new UserError(
    agent.call === null
      ? 'cannot use --model with a custom command; put the model into the command after --'
      : `cannot use --model: ${agent.name} has no option for a model`,
  );
}

/** Refuses a program that cannot be started, before anything is created for the loop. */
function checkProgram(
  agent: Agent,
  program: string,
  env: Environment,
  workspace: string,
  isUsersCommand: boolean,
): void {
  const found = findCommand(program, env['PATH'] ?? '', workspace);
  if (found.found === 'not-executable') {
    throw new UserError(
      `agent command is not executable: ${found.path}; try: chmod +x ${shellQuote(found.path)}`,
    );
  }
  if (found.found === 'executable') return;
  const where = `looked in PATH${program.includes('/') ? ` and from ${workspace}` : ''}`;
  const shown = program === '' ? '""' : program;
  if (agent.call === null) {
    const remedy = remedyForWords(program) ?? 'install it or give its path';
    throw new UserError(`agent command not found: ${shown} (${where}); ${remedy}${onAliases(program)}`);
  }
  throw new UserError(
    `${isUsersCommand ? `agent command not found: ${shown}` : `${agent.name} is not installed`} (${where}); install it with: ${agent.call.install}${onAliases(program)}`,
  );
}

/** What to do if the word works in the user's shell nevertheless. */
function onAliases(word: string): string {
  return /^[\w.-]+$/.test(word) && /\w/.test(word)
    ? `\n(If ${word} is an alias or a function of your shell, write out its command line: after --, or as agent.command and agent.flags in the settings)`
    : '';
}

/** A command with its flags in one string, as in `agent.command: "claude --model opus"`; null for a single word. */
function remedyForWords(program: string): string | null {
  const [command, ...flags] = splitWords(program) ?? [];
  if (command === undefined || flags.length === 0) return null;
  return `the command is one program: put its flags into agent.flags in the settings ("command": ${JSON.stringify(command)}, "flags": ${JSON.stringify(flags)}), or pass them unquoted: -- ${program}`;
}

/** The flags of document 001's table, or their substitutes if the program no longer supports them; null if it is not in the table. */
async function documentedFlags(
  agent: Agent,
  program: string,
  env: Environment,
  cwd: string,
): Promise<readonly string[] | null> {
  const { call } = agent;
  if (call === null || call.documented === null) return null;
  const { flags, substitutes } = call.documented;
  const found = findCommand(program, env['PATH'] ?? '', cwd);
  if (substitutes === undefined || found.found !== 'executable') return flags;
  const [command] = call.own.commands;
  const help = await exec([found.path, ...(command === undefined ? [] : [command]), '--help'], {
    cwd,
    env,
    timeoutMs: HELP_TIMEOUT_MS,
  });
  const text = `${help?.stdout.toString('utf8') ?? ''}${help?.stderr ?? ''}`;
  // Only a help text proves that a flag is missing.
  const isDropped = /\busage\b/i.test(text) && flags.some((flag) => !text.includes(flag));
  return isDropped ? substitutes : flags;
}

/** How the agent gets its prompt in document 001: a custom command gets it as the last argument. */
function documentedPromptVia({ call }: Agent): PromptVia | null {
  return call === null ? 'argument' : (call.documented?.promptVia ?? null);
}

const HELP_TIMEOUT_MS = 10_000;
