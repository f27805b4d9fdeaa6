/**
 * What Ralph remembers of a session of Claude Code between two hooks, in a file beside the state of the session.
 *
 * 1. It is a hint: a file that is missing, damaged or about another transcript is as good as none.
 * 2. It never makes the folder of a session, so it does not outlive the session's loop.
 */
import { join } from 'node:path';
import { below } from '../../files/below.ts';
import { PRIVATE_FILE, readRegular } from '../../files/files.ts';
import { replaceFile } from '../../files/replace-file.ts';
import { fields, fits, nullable, optional, string, table, whole, type Rule } from '../../loop/shape.ts';
import type { SubagentOffsets } from './transcript.ts';
import { sessionsFolder } from '../../session/session-file.ts';

export interface ClaudeMemory {
  /** The transcript, and how much of it belongs to earlier turns, in bytes. */
  readonly transcript: string;
  readonly offset: number;
  readonly subagents: SubagentOffsets;
  /** How often Ralph has kept the session going since the person's last prompt or the agent's last tool call. */
  readonly blocks: number;
  /** The next prompt, if the session was let go before it could get it. */
  readonly pending: string | null;
  /** The agent's last message in the turn before, by which a second report of that turn is known. */
  readonly last?: string;
  /** The id of the message that has started the loop, until its first turn has ended. */
  readonly startedBy?: string;
}

export function readMemory(session: string): ClaudeMemory | null {
  try {
    const text = below(sessionsFolder(), [session], { make: false }, (folder) =>
      readRegular(join(folder, FILE), MAX_BYTES),
    );
    const memory: unknown = text === null ? null : JSON.parse(text.toString('utf8'));
    return isMemory(memory) ? memory : null;
  } catch {
    return null;
  }
}

export function writeMemory(session: string, memory: ClaudeMemory): void {
  try {
    below(sessionsFolder(), [session], { make: false }, (folder) =>
      replaceFile(join(folder, FILE), `${JSON.stringify(memory)}\n`, { mode: PRIVATE_FILE }),
    );
  } catch {
    // The loop has ended, or the disk is full: without it the next step takes only the last message.
  }
}

const FILE = 'claude.json';
const MAX_BYTES = 16 * 2 ** 20;

const MEMORY: Rule = fields({
  transcript: string,
  offset: whole(0),
  subagents: table(whole(0)),
  blocks: whole(0),
  pending: nullable(string),
  last: optional(string),
  startedBy: optional(string),
} satisfies Record<keyof ClaudeMemory, Rule>);

function isMemory(value: unknown): value is ClaudeMemory {
  return fits(MEMORY, value);
}
