/** Following the advice of a message, as a person does who copies the command. */
import { execFileSync } from 'node:child_process';
import { expect } from 'vitest';
import type { Ended, Ralph } from './ralph.ts';
import type { Stage } from './stage.ts';

/** A situation in which messages advise commands; the test follows all of them. */
export interface Advice {
  readonly situation: string;
  /** The places in the source, as `advisedCommands` names them. */
  readonly from: readonly string[];
  /** Whether the settings of the workspace are trusted from the start; they are by default. */
  readonly trust?: false;
  readonly follow: (stage: Stage) => Promise<void>;
}

export const DONE = "echo '<promise>DONE</promise>'";

/** Everything that a command printed. */
export const said = ({ stdout, stderr }: Ended): string => stdout + stderr;

/** The command that a text advises, from these words on. */
export function advised(text: string, words: string): string {
  const at = text.indexOf(words);
  if (at < 0) throw new Error(`no advice ${JSON.stringify(words)} in: ${text}`);
  const [line = ''] = text.slice(at).split(/\n| {2,}/, 1);
  return (/^(?:[^;,()'"`]|"[^"]*"|'[^']*')*/.exec(line)?.[0] ?? '').trim();
}

/** Runs the command that a text advises; `write` says what the person writes for `…` and `NAME`. */
export async function follow(
  stage: Stage,
  text: string,
  words: string,
  { code = 0, write = {}, more = '', inSentence = false }: Following = {},
): Promise<Ended> {
  const line = advised(text, words);
  let command = inSentence ? words : line;
  for (const [placeholder, value] of Object.entries(write)) command = command.replaceAll(placeholder, value);
  const ended = await pasted(stage, `${command} ${more}`).ended;
  expect({ command, ...ended }).toEqual({ command, ...ended, code });
  return ended;
}

interface Following {
  readonly code?: number;
  readonly write?: Readonly<Record<string, string>>;
  /** Whether the sentence goes on behind these words. */
  readonly inSentence?: boolean;
  /** Words behind the command, such as the agent's. */
  readonly more?: string;
}

/** Starts a line that a shell reads. A command of Ralph gets the words that the shell makes of it, and runs as the stage runs it. */
export function pasted(stage: Stage, line: string): Ralph {
  if (!line.startsWith('ralph ')) return stage.shell(line);
  const { workspace: cwd, env } = stage;
  const script = `ralph() { printf '%s\\0' "$@" '\n'; }\n${line}`;
  const read = execFileSync('/bin/sh', ['-c', script], { cwd, env, encoding: 'utf8' });
  const words = read.split('\0').slice(0, -1);
  if (words.indexOf('\n') !== words.length - 1) throw new Error(`more than one command: ${line}`);
  const args = words.slice(0, -1);
  // `diff` leaves its output to git.
  return args[0] === 'diff' ? stage.process(...args) : stage.ralph(...args);
}
