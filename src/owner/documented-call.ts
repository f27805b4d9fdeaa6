/** How document 001 calls an agent: with the flags of its table, as long as the installed program knows them. */
import type { Agent, PromptVia } from '../agents/agent.ts';
import { findCommand } from '../process/command.ts';
import { exec } from '../process/exec.ts';

/** The table's flags; those of the adapter where the program has dropped one of them; null for an agent without either. */
export async function documentedFlags(
  agent: Agent,
  program: string,
  env: Readonly<Record<string, string>>,
  cwd: string,
): Promise<readonly string[] | null> {
  const { call } = agent;
  if (call === null || call.documented === null) return null;
  const { flags } = call.documented;
  const found = findCommand(program, env['PATH'] ?? '', cwd);
  if (flags.length === 0 || found.found !== 'executable') return flags;
  const [command] = call.own.commands;
  const help = await exec([found.path, ...(command === undefined ? [] : [command]), '--help'], {
    cwd,
    env,
    timeoutMs: TIMEOUT_MS,
  });
  const text = `${help?.stdout.toString('utf8') ?? ''}${help?.stderr ?? ''}`;
  // Only a help says what there is not.
  const isDropped = /\busage\b/i.test(text) && flags.some((flag) => !text.includes(flag));
  return isDropped ? call.autonomous : flags;
}

/** Where the prompt goes: an agent that nobody knows gets it as its last argument. */
export function documentedWay({ call }: Agent): PromptVia | null {
  return call === null ? 'argument' : (call.documented?.promptVia ?? null);
}

const TIMEOUT_MS = 10_000;
