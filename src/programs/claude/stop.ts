/**
 * The end of a turn of Claude Code: the events `Stop` and `StopFailure`.
 *
 * 1. A session without a loop is let go at once.
 * 2. While background tasks run, the turn is not over: nothing is changed.
 * 3. Claude Code ends a turn that hooks block too often. Ralph lets go before that, and the next prompt of the person brings
 *    the prompt that the session missed.
 * 4. Claude Code runs a command that a person types during a turn only after the turn. Ralph lets go for it; otherwise
 *    no command could cancel a loop.
 * 5. The event has the last message; the transcript has the rest and may be some milliseconds late.
 * 6. Two hooks may report one turn, if Ralph is installed twice. Only one of them takes the step and changes the memory.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { isRecord, list, text } from '../../agents/json.ts';
import { readTrouble } from '../../agents/trouble.ts';
import { counted } from '../../loop/counted.ts';
import { readMemory, writeMemory } from './memory.ts';
import {
  readSubagents,
  readTurn,
  total,
  transcriptEnd,
  type SubagentOffsets,
  type SubagentUsage,
  type TranscriptTurn,
} from './transcript.ts';
import type { HookInput } from '../hook-input.ts';
import { readState } from '../../session/session-file.ts';
import { endTurn, refuseDamagedState, sessionStatus } from '../../session/session.ts';
import type { FinishedTurn, TurnError } from '../../session/turn.ts';

/** Answers `Stop`. */
export async function stopped(input: HookInput, env: NodeJS.ProcessEnv): Promise<object | null> {
  const { session } = input;
  const state = readState(session);
  if (state === null) refuseDamagedState(session);
  if (state === null) return null;
  const busy = list(input.fields['background_tasks']).filter(isRunning);
  if (busy.length > 0) {
    const names = busy.map(
      (task) => text(task['description']) || text(task['command']) || text(task['type']),
    );
    return note(
      `Ralph loop: waiting for ${counted(busy.length, 'background task')} (${names.join(', ').slice(0, 200)}); the loop continues when it has ended`,
    );
  }
  const turn = await finishedTurn(input);
  if (turn.isOld) return null;
  // The command ends the loop, so the checks need not run.
  if (turn.queued.some((queued) => ENDS_LOOP.test(queued))) return null;
  const blocks = blocksBefore(input, turn) + 1;
  // Most turns continue, and then this is still right.
  const taken = (): void => remember(input, turn, { blocks, pending: null });
  const answer = await endTurn(session, turn.finished, undefined, { state, taken });
  if (answer.type === 'none') return null;
  if (answer.type !== 'continue') {
    remember(input, turn, { blocks: 0, pending: null });
    return note(answer.message);
  }
  const cap = blockCap(env);
  const command = turn.queued.find(isCommand);
  if (command === undefined && blocks <= cap) {
    // Claude Code would run the command only after the loop, when there is nothing left to show.
    const status = turn.queued.some((queued) => IS_STATUS.test(queued)) ? await sessionStatus(session) : null;
    const shown = [answer.message, ...(status?.lines ?? [])].join('\n');
    return { decision: 'block', reason: answer.prompt, systemMessage: shown };
  }
  remember(input, turn, { blocks: 0, pending: answer.prompt });
  return note(
    command === undefined
      ? `${answer.message}. Claude Code ends a turn after ${counted(cap, 'continuation')} without a tool call; type anything to continue the loop. To raise this limit, set CLAUDE_CODE_STOP_HOOK_BLOCK_CAP in the environment or in "env" of your settings (0 = unlimited)`
      : `${answer.message}. Ralph lets ${command.split(/\s/, 1)[0] ?? ''} run first; if the loop still runs after it, type anything to continue the loop`,
  );
}

/** Answers `StopFailure`: an error of the API has ended the turn, and no hook can continue it. */
export async function failed(input: HookInput): Promise<object | null> {
  const state = readState(input.session);
  if (state === null) return null;
  const turn = await finishedTurn(input, errorOf(input));
  const taken = (): void => remember(input, turn, { blocks: 0, pending: null });
  const answer = await endTurn(input.session, turn.finished, undefined, { state, taken });
  if (answer.type === 'none') return null;
  remember(input, turn, { blocks: 0, pending: answer.type === 'continue' ? answer.prompt : null });
  return note(answer.message);
}

/** One line for the person. */
export function note(message: string): object {
  return { systemMessage: message };
}

interface ReadTurn {
  readonly finished: FinishedTurn;
  readonly queued: readonly string[];
  readonly toolCalls: number;
  readonly end: number;
  readonly subagents: SubagentOffsets;
  /** The turn before this one, reported again. */
  readonly isOld: boolean;
}

async function finishedTurn(input: HookInput, error?: TurnError): Promise<ReadTurn> {
  // The last message of a turn that failed is the text of the error.
  const last = error === undefined ? (input.text('last_assistant_message')?.trim() ?? '') : '';
  const found = await transcriptOf(input, last);
  const messages = [...(found?.messages ?? [])];
  if (!says(found, last)) messages.push({ role: 'assistant', text: last });
  const { transcript } = input;
  const memory = readMemory(input.session);
  const known = memory?.subagents ?? null;
  const used = transcript === null ? NO_SUBAGENTS : readSubagents(transcript, known ?? {});
  const finished: FinishedTurn = {
    messages,
    steps: found?.toolCalls,
    // Without a memory, earlier subagents would count again.
    tokens: total(found?.tokens ?? null, known === null ? null : used.tokens) ?? undefined,
    model: found?.model ?? undefined,
    error,
  };
  return {
    finished,
    queued: found?.queued ?? [],
    toolCalls: found?.toolCalls ?? 0,
    end: found?.end ?? (transcript === null ? 0 : transcriptEnd(transcript)),
    subagents: used.offsets,
    isOld: found?.hasBegun === false && last !== '' && memory?.last === last,
  };
}

const NO_SUBAGENTS: SubagentUsage = { offsets: {}, tokens: null };

/** What the transcript has of this turn; waits a moment for its last message. */
async function transcriptOf(
  { session, transcript }: HookInput,
  last: string,
): Promise<TranscriptTurn | null> {
  const memory = readMemory(session);
  if (transcript === null || memory === null || memory.transcript !== transcript) return null;
  const deadline = performance.now() + LATE_MS;
  for (;;) {
    const turn = readTurn(transcript, memory.offset);
    if (turn === null || says(turn, last) || performance.now() > deadline) return turn;
    // oxlint-disable-next-line no-await-in-loop -- another process writes the file, and a watcher starts no sooner
    await sleep(POLL_MS);
  }
}

/** Claude Code writes its transcript every 100 ms. */
const LATE_MS = 250;
const POLL_MS = 10;

function says(turn: TranscriptTurn | null, last: string): boolean {
  const spoken = turn?.messages.findLast(({ role }) => role === 'assistant')?.text.trim();
  return last === '' || spoken === last;
}

function remember(
  { session, transcript, text: field }: HookInput,
  { end, subagents }: ReadTurn,
  more: { readonly blocks: number; readonly pending: string | null },
): void {
  const last = field('last_assistant_message')?.trim() ?? '';
  if (transcript !== null) writeMemory(session, { transcript, offset: end, subagents, last, ...more });
}

/** A prompt of the person or a tool call starts the count again. */
function blocksBefore({ session, fields }: HookInput, { toolCalls }: ReadTurn): number {
  return fields['stop_hook_active'] === true && toolCalls === 0 ? (readMemory(session)?.blocks ?? 0) : 0;
}

/** How often Claude Code lets a hook block the end of one turn. */
function blockCap(env: NodeJS.ProcessEnv): number {
  const stated = env['CLAUDE_CODE_STOP_HOOK_BLOCK_CAP'] ?? '';
  const cap = /^-?\d{1,9}$/.test(stated) ? Number(stated) : DEFAULT_CAP;
  return cap > 0 ? cap : Number.POSITIVE_INFINITY;
}

const DEFAULT_CAP = 8;

const ENDS_LOOP = /^\/(?:ralph:)?(?:cancel-)?ralph(?:\s|$)/;

/** A status is the only command that need not run: it is answered at the end of the turn, and the loop continues. */
function isCommand(queued: string): boolean {
  return /^\/[a-z]/i.test(queued) && !IS_STATUS.test(queued);
}

const IS_STATUS = /^\/(?:ralph:)?ralph-status\b/;

function isRunning(task: unknown): task is Record<string, unknown> {
  return isRecord(task) && (task['status'] === undefined || ACTIVE.has(text(task['status'])));
}

const ACTIVE: ReadonlySet<string> = new Set(['running', 'pending', 'queued']);

function errorOf(input: HookInput): TurnError {
  const stated = input.text('last_assistant_message') ?? input.text('error_details') ?? '';
  const reported = { message: stated || 'the turn ended with an error', codes: [input.text('error')] };
  const { limit, error } = readTrouble(reported, Date.now());
  return limit === null
    ? { message: error.message }
    : { message: limit.message, limit: { resetsAt: limit.resetsAt } };
}
