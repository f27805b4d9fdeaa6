/**
 * Runs a `ralph` command for a tool.
 *
 * 1. A tool does what the command does that a person would type, in a process of its own: every refusal, question of trust
 *    and message is the command's, also inside a run and inside a sandbox, and nothing but the protocol reaches stdout.
 * 2. Arguments that a client chooses never stand alone: a value is part of its option (`--name=VALUE`), a long text is the
 *    command's stdin, and names of loops are checked by the tool's schema. So no text of a client can become an option.
 * 3. The command ends when the call is cancelled, the client is gone, or its time is up.
 */
import { fileURLToPath } from 'node:url';
import { exec } from '../process/exec.ts';
import { UserError } from '../user-error.ts';
import type { Answer } from './tool.ts';

const MAIN = fileURLToPath(new URL('../cli/main.js', import.meta.url));

/** Runs a command to its end; throws its error message unless it exits with one of the codes. */
async function runCommand(
  [name, ...args]: readonly [string, ...string[]],
  { cwd, signal, input = '', timeoutMs = TIMEOUT_MS, codes = [0] }: CommandOptions,
): Promise<CommandOutput> {
  const result = await exec([process.execPath, MAIN, name, ...args], {
    cwd,
    env: definedOnly(process.env),
    input,
    interrupt: signal,
    timeoutMs,
    maxBytes: MAX_BYTES,
  });
  if (result === null) throw new UserError(`cannot start ralph ${name}`);
  const { code, stderr } = result;
  const stdout = result.stdout.toString('utf8');
  // A command that refuses to do something prints nothing but the reason, on stderr.
  if (code !== null && codes.includes(code) && (code === 0 || stdout !== '')) return { code, stdout, stderr };
  if (signal.aborted) throw new UserError(`ralph ${name} was cancelled`);
  if (code === null) throw new UserError(`ralph ${name} did not end within ${timeoutMs / 1000} seconds`);
  throw new UserError(
    withoutPrefix(stderr) || stdout.trim() || `ralph ${name} failed with exit code ${code}`,
  );
}

export interface CommandOptions {
  readonly cwd: string;
  readonly signal: AbortSignal;
  /** For its stdin. */
  readonly input?: string;
  readonly timeoutMs?: number;
  /** The exit codes that are no errors. */
  readonly codes?: readonly number[];
}

export interface CommandOutput {
  readonly code: number;
  readonly stdout: string;
  /** Notes and warnings. */
  readonly stderr: string;
}

/** What a command prints; the notes on its stderr come last. */
export async function printed(
  command: readonly [string, ...string[]],
  options: CommandOptions,
): Promise<Answer> {
  const { stdout, stderr } = await runCommand(command, options);
  return { text: [stdout.trimEnd(), withoutPrefix(stderr)].filter((text) => text !== '').join('\n\n') };
}

/** `--name=value`; nothing if there is no value. */
export function option(name: string, given: string | number | undefined): readonly string[] {
  return given === undefined ? [] : [`--${name}=${given}`];
}

const TIMEOUT_MS = 60_000;
/** Far more than an answer can have. */
const MAX_BYTES = 8 * 1024 * 1024;

function definedOnly(env: NodeJS.ProcessEnv): Record<string, string> {
  const set = Object.entries(env).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, value]],
  );
  return Object.fromEntries(set);
}

/** Messages without the prefix that a terminal needs. */
function withoutPrefix(stderr: string): string {
  return stderr.replaceAll(/^ralph: (?:error: )?/gm, '').trim();
}
