/**
 * What opencode (1.18) says about a session, as the hook reads it.
 *
 * 1. Fields that are missing or of another type are read as absent: another version of opencode must not break a session.
 * 2. Only text that the agent wrote in this session can keep a promise. Reasoning, tools, subagents and the summaries of
 *    compaction cannot.
 * 3. The list only grows, because the hook counts the messages that it has seen.
 */
import { readError } from '../../agents/opencode.ts';
import { count, isRecord, list, number, record, text, textOrNull, type Json } from '../../agents/json.ts';
import { addTokens } from '../../loop/limits.ts';
import type { TurnTokens } from '../../session/turn.ts';
import type { HookMessage } from '../../session/hook/types.ts';

/** The messages of a session. `usageOf` knows what the subagent of a tool call has used. */
export function hookMessages(
  messages: unknown,
  usageOf: (call: SubagentCall) => SpentUsage | null = () => null,
): readonly HookMessage[] {
  return list(messages).flatMap((message) => {
    const { info, parts } = record(message);
    const all = list(parts).filter(isRecord);
    const { role } = record(info);
    if (role === 'user') return all.some(isTyped) ? [{ role: 'user', content: typedText(all) }] : [];
    return role === 'assistant' ? assistantMessages(record(info), all, usageOf) : [];
  });
}

export interface SubagentCall {
  /** The id of the tool call, unique. */
  readonly id: string;
  readonly session: string;
  readonly startedAt: number;
  readonly endedAt: number;
}

export interface SpentUsage {
  readonly tokens: TurnTokens;
  readonly costUsd: number;
}

/** The calls of subagents that have ended. */
export function subagentCalls(messages: unknown): readonly SubagentCall[] {
  return list(messages)
    .flatMap((message) => list(record(message)['parts']))
    .filter(isRecord)
    .flatMap((part) => callIn(part) ?? []);
}

/** What a session has used in a time, without its own subagents. */
export function usageBetween(
  messages: unknown,
  { startedAt, endedAt }: Pick<SubagentCall, 'startedAt' | 'endedAt'>,
): SpentUsage {
  return list(messages)
    .map((message) => record(record(message)['info']))
    .filter(({ role, time }) => {
      const created = number(record(time)['created']) ?? 0;
      return role === 'assistant' && created >= startedAt && created <= endedAt;
    })
    .map(spent)
    .reduce(sum, NOTHING);
}

/** The agent and the model of the last prompt, for the next one: without them opencode takes its defaults. */
export function promptSettings(messages: unknown): Readonly<Record<string, unknown>> {
  const last = record(
    list(messages).findLast((message) => record(record(message)['info'])['role'] === 'user'),
  );
  const { agent, model, variant } = record(last['info']);
  const { providerID, modelID, variant: ofModel } = record(model);
  const chosen = textOrNull(variant) ?? textOrNull(ofModel);
  return {
    ...(textOrNull(agent) === null ? {} : { agent }),
    ...(textOrNull(providerID) === null || textOrNull(modelID) === null
      ? {}
      : { model: { providerID, modelID } }),
    ...(chosen === null ? {} : { variant: chosen }),
  };
}

/** The error of `session.error` for the hook: a usage limit of the provider is one field. */
export function hookError(error: unknown, now: number): object {
  const given = record(error);
  const { limit, error: read } = readError(given, now);
  return {
    name: text(given['name']),
    message: read.message,
    ...(limit === null ? {} : { limit: { resetsAt: limit.resetsAt } }),
  };
}

/** Text that a person typed: neither added by a program nor shown to the person only. */
function isTyped(part: Json): boolean {
  return part['type'] === 'text' && part['synthetic'] !== true && part['ignored'] !== true;
}

function typedText(parts: readonly Json[]): string {
  return textIn(parts.filter(isTyped));
}

function textIn(parts: readonly Json[]): string {
  return parts.map((part) => text(part['text'])).join('\n');
}

function assistantMessages(
  info: Json,
  parts: readonly Json[],
  usageOf: (call: SubagentCall) => SpentUsage | null,
): readonly HookMessage[] {
  const { modelID } = info;
  // opencode reports a cost of 0 if it does not know the price.
  const { tokens, costUsd } = spent(info);
  const usage = {
    tokens,
    ...(costUsd > 0 ? { costUsd } : {}),
    ...(textOrNull(modelID) === null ? {} : { model: text(modelID) }),
  };
  const ofType = (type: string): readonly Json[] => parts.filter((part) => part['type'] === type);
  // A summary quotes what the agent was asked to print.
  const isSummary = info['summary'] === true || info['agent'] === 'compaction';
  const said = textIn(ofType('text').filter((part) => part['ignored'] !== true));
  return [
    ...ofType('reasoning').map((part) => ({ role: 'reasoning', content: text(part['text']) })),
    ...ofType('tool').map((part) => toolMessage(part, usageOf)),
    // Always one, so that the list only grows while the message does.
    { role: isSummary || said === '' ? 'reasoning' : 'assistant', content: said, ...usage },
  ];
}

function toolMessage(part: Json, usageOf: (call: SubagentCall) => SpentUsage | null): HookMessage {
  const state = record(part['state']);
  const output = textOrNull(state['output']) ?? text(state['error']);
  const call = callIn(part);
  const usage = call === null ? null : usageOf(call);
  return {
    role: 'tool',
    content: `${text(part['tool'])}: ${output.slice(0, MAX_OUTPUT)}`,
    ...(usage === null ? {} : { tokens: usage.tokens }),
    ...(usage !== null && usage.costUsd > 0 ? { costUsd: usage.costUsd } : {}),
  };
}

/** Enough to see what a tool did. */
const MAX_OUTPUT = 8000;

function callIn(part: Json): SubagentCall | null {
  const state = record(part['state']);
  const session = textOrNull(record(state['metadata'])['sessionId']);
  const { start, end } = record(state['time']);
  const [startedAt, endedAt] = [number(start), number(end)];
  if (part['type'] !== 'tool' || session === null || startedAt === null || endedAt === null) return null;
  return { id: text(part['id']), session, startedAt, endedAt };
}

/** Reasoning counts as output. */
function spent(info: Json): SpentUsage {
  const tokens = record(info['tokens']);
  const cache = record(tokens['cache']);
  return {
    tokens: {
      input: count(tokens['input']),
      output: count(tokens['output']) + count(tokens['reasoning']),
      cacheRead: count(cache['read']),
      cacheWrite: count(cache['write']),
    },
    costUsd: count(info['cost']),
  };
}

const NOTHING: SpentUsage = { tokens: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, costUsd: 0 };

function sum(one: SpentUsage, other: SpentUsage): SpentUsage {
  return {
    tokens: addTokens(one.tokens, other.tokens),
    costUsd: one.costUsd + other.costUsd,
  };
}
