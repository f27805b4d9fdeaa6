/** How document 001 calls an agent: with the flags of its table, as long as the installed program supports them. */
import type { Agent, PromptVia } from '../agents/agent.ts';
import { findCommand } from '../process/command.ts';
import { exec } from '../process/exec.ts';

/** The flags of the table, or their substitutes if the program no longer supports them; null if it is not in the table. */
export async function documentedFlags(
  agent: Agent,
  program: string,
  env: Readonly<Record<string, string>>,
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
    timeoutMs: TIMEOUT_MS,
  });
  const text = `${help?.stdout.toString('utf8') ?? ''}${help?.stderr ?? ''}`;
  // Only a help text proves that a flag is missing.
  const isDropped = /\busage\b/i.test(text) && flags.some((flag) => !text.includes(flag));
  return isDropped ? substitutes : flags;
}

/** How the agent gets its prompt: a custom command gets it as the last argument. */
export function documentedPromptVia({ call }: Agent): PromptVia | null {
  return call === null ? 'argument' : (call.documented?.promptVia ?? null);
}

const TIMEOUT_MS = 10_000;
