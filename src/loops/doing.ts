/** What a loop does at this moment, read from its state and from the end of what its agent has printed. */
import { closeSync, fstatSync } from 'node:fs';
import { readAll } from '../files/files.ts';
import type { LoopReading } from '../home/read-loop.ts';
import { maskOf } from '../home/mask.ts';
import { openRun } from '../loop/run.ts';
import { hideKeys } from '../loop/secrets.ts';
import { UserError } from '../user-error.ts';
import { parserFor } from './agent-stream.ts';
import { openOutput } from './output.ts';

export interface Doing {
  /** `Bash(npm test)`, `agent`, `check: npm test`. */
  readonly what: string;
  /** When it began, as far as that is known. */
  readonly since: number;
}

/** Null if nothing runs. */
export function doingOf(loop: LoopReading): Doing | null {
  const { state, owner } = loop;
  if (owner === null || state.outcome !== null) return null;
  const run = openRun(state);
  if (run !== null)
    return run.receipt === null ? null : (toolOf(loop, run.id) ?? { what: 'agent', since: run.plannedAt });
  const { turn, policy } = state;
  if (!turn.checksStarted) return null;
  const next = policy.checks.commands[turn.checks.filter((result) => result !== null).length];
  return next === undefined ? null : { what: `check: ${hideKeys(next.command)}`, since: state.now };
}

/** The last tool that the agent has called and that has not ended; it began when the agent printed its last line. */
function toolOf({ spec, folder }: LoopReading, run: string): Doing | null {
  const { kind } = spec.agent;
  const opened = kind === 'custom' ? null : openedOutput(folder, run);
  if (opened === null) return null;
  try {
    const { size, mtimeMs } = fstatSync(opened);
    const from = Math.max(0, size - TAIL_BYTES);
    const parser = parserFor(kind, folder.run(run), 0);
    const open = new Map<string, string>();
    const mask = maskOf(spec);
    const bytes = readAll(opened, size - from, from);
    // The first line of the tail is not whole.
    const start = from === 0 ? 0 : bytes.indexOf(0x0a) + 1;
    for (const event of parser.push(bytes.subarray(start))) {
      if (event.type === 'tool.start') open.set(event.id, `${event.name}(${mask.cutText(event.input)})`);
      else if (event.type === 'tool.end') open.delete(event.id);
    }
    const last = [...open.values()].at(-1);
    return last === undefined ? null : { what: last, since: Math.floor(mtimeMs) };
  } finally {
    closeSync(opened);
  }
}

/** Null if it cannot be opened: the status of a loop does not depend on it. */
function openedOutput(folder: LoopReading['folder'], run: string): number | null {
  try {
    return openOutput(folder, run, 'stdout');
  } catch (error) {
    if (error instanceof UserError) return null;
    throw error;
  }
}

const TAIL_BYTES = 64 * 1024;
