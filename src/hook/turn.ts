/** The messages of a session that belong to its last turn. */
import { addTokens } from '../loop/limits.ts';
import type { FinishedTurn, TurnMessage } from '../session/turn.ts';
import type { HookMessage } from './types.ts';

/** Everything after the messages that were there before; without a usable number of them, after the last user message. */
export function newMessages(all: readonly HookMessage[], seen: number | undefined): readonly HookMessage[] {
  if (seen !== undefined && seen <= all.length) return all.slice(seen);
  return all.slice(all.findLastIndex(({ role }) => role === 'user') + 1);
}

/** What happened in a turn. */
export function finishedTurn(messages: readonly HookMessage[]): FinishedTurn {
  const costs = messages.flatMap(({ costUsd }) => costUsd ?? []);
  const used = messages.flatMap(({ tokens }) => tokens ?? []);
  return {
    messages: messages.flatMap(({ role = '', content }): readonly TurnMessage[] => {
      if (typeof content !== 'string' || content === '') return [];
      return [{ role: ROLES[role] ?? 'user', text: content }];
    }),
    steps: messages.filter(({ role }) => role === 'tool').length,
    tokens: used.length === 0 ? undefined : used.reduce(addTokens),
    costUsd: costs.length === 0 ? undefined : costs.reduce((sum, cost) => sum + cost, 0),
    model: messages.findLast(({ model }) => model !== undefined)?.model,
  };
}

const ROLES: Readonly<Record<string, TurnMessage['role']>> = {
  assistant: 'assistant',
  reasoning: 'reasoning',
  thinking: 'reasoning',
  tool: 'tool',
};
