/**
 * The turn that has just ended, read from Codex's session file (the rollout), from its end to the last step of the loop.
 *
 * 1. Messages are those since the last prompt of a Stop hook, or else since the turn began: a Stop hook that blocks continues
 *    the same turn of Codex.
 * 2. Tokens are those since the last step, so those of turns that an error ended are among them: Codex calls no hook then.
 * 3. Whatever was written before the loop started belongs to no step.
 */
import { tokensOf, totalIn } from '../../agents/codex-record.ts';
import { readEnd } from '../../agents/record-file.ts';
import { list, parsed, record, text, textOrNull, type Json } from '../../agents/json.ts';
import { subtractTokens } from '../../loop/limits.ts';
import type { HookInput } from '../hook-input.ts';
import type { FinishedTurn, TurnMessage, TurnTokens } from '../../session/turn.ts';

/** What a Stop event and the session file tell about a turn of a loop that started at this time (ms since 1970). */
export function finishedTurn(event: HookInput, loopStart: number): FinishedTurn {
  const { messages, steps, tokens } = read(event, loopStart);
  const said = event.text('last_assistant_message');
  const last = messages.findLast(({ role }) => role === 'assistant');
  const isRecorded = said === null || said === '' || last?.text === withPlainTags(said);
  return {
    messages: isRecorded ? messages : [...messages, ...one('assistant', withPlainTags(said))],
    steps,
    tokens,
    model: event.text('model') ?? undefined,
  };
}

/** Codex escapes the prompts of hooks, so an agent may repeat the tag as it has seen it. */
function withPlainTags(said: string): string {
  return said.replaceAll(/&lt;(\/?promise)&gt;/gi, '<$1>');
}

/** Whether a person has typed this message while a turn is at work, so that it becomes part of that turn. */
export function isDuringTurn({ transcript, text: field }: HookInput): boolean {
  const end = transcript === null ? null : readEnd(transcript);
  const turn = field('turn_id');
  if (end === null || turn === null) return false;
  for (const line of end.text.split('\n').toReversed()) {
    const { payload } = entryOf(line);
    if (TURN_EDGE.test(text(payload['type']))) return false;
    if (isItem(payload, 'UserMessage') && payload['turn_id'] === turn) return true;
  }
  return false;
}

const TURN_EDGE = /^(?:task_started|task_complete|turn_aborted)$/;

interface Found {
  readonly messages: readonly TurnMessage[];
  readonly steps: number;
  readonly tokens: TurnTokens | undefined;
}

function read({ transcript }: HookInput, loopStart: number): Found {
  const end = transcript === null ? null : readEnd(transcript);
  const messages: TurnMessage[] = [];
  let steps = 0;
  let isInTurn = true;
  let last: TurnTokens | undefined;
  let first: TurnTokens | undefined = end?.isWhole === true ? NO_TOKENS : undefined;
  let isInStep = true;
  for (const line of end?.text.split('\n').toReversed() ?? []) {
    const entry = entryOf(line);
    isInStep &&= !endsStep(entry) && !(entry.at < loopStart);
    isInTurn &&= isInStep && entry.payload['type'] !== 'task_started';
    const total = totalIn(line);
    if (total !== null && isInStep) last ??= tokensOf(total.usage);
    else if (total !== null) {
      first = tokensOf(total.usage);
      break;
    }
    if (!isInTurn) continue;
    messages.push(...messageOf(entry));
    if (entry.type === 'response_item' && TOOL_CALL.test(text(entry.payload['type']))) steps++;
  }
  const tokens = last === undefined || first === undefined ? undefined : subtractTokens(last, first);
  return { messages: messages.toReversed(), steps, tokens };
}

const NO_TOKENS: TurnTokens = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

interface Entry {
  readonly type: string;
  readonly payload: Json;
  /** NaN if it is not known. */
  readonly at: number;
}

function entryOf(line: string): Entry {
  const entry = parsed(line);
  return {
    type: text(entry['type']),
    payload: record(entry['payload']),
    at: Date.parse(text(entry['timestamp'])),
  };
}

/** A prompt of a hook, or a turn that ended in order: the step before this one was taken there. */
function endsStep({ payload }: Entry): boolean {
  return (
    isItem(payload, 'HookPrompt') || (payload['type'] === 'task_complete' && payload['error'] === undefined)
  );
}

function isItem(payload: Json, type: string): boolean {
  return payload['type'] === 'item_completed' && record(payload['item'])['type'] === type;
}

const TOOL_CALL = /_call$/;
const TOOL_OUTPUT = /_call_output$/;

function messageOf({ type, payload }: Entry): readonly TurnMessage[] {
  if (type !== 'response_item') return [];
  const kind = text(payload['type']);
  if (kind === 'message' && payload['role'] === 'assistant')
    return one('assistant', withPlainTags(joined(payload['content'])));
  if (kind === 'reasoning') return one('reasoning', joined(payload['summary']));
  if (TOOL_OUTPUT.test(kind)) return one('tool', textOrNull(payload['output']) ?? joined(payload['output']));
  return [];
}

function one(role: TurnMessage['role'], said: string): readonly TurnMessage[] {
  return said === '' ? [] : [{ role, text: said }];
}

function joined(content: unknown): string {
  return list(content)
    .map((part) => text(record(part)['text']))
    .join('');
}
