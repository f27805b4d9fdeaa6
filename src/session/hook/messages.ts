/** Where the messages of a session come from: its transcript, or else the host program, which has 3 seconds to answer. */
import { addTokens } from '../../loop/limits.ts';
import type { FinishedTurn, TurnMessage } from '../turn.ts';
import type { Announcer } from './announce.ts';
import { MESSAGES_TIMEOUT } from './constants.ts';
import { withTimeout, type Timers } from './timers.ts';
import { readTranscript } from './transcript.ts';
import type { HookMessage, RalphLoopOptions } from './types.ts';

export interface LastTurn {
  readonly turn: FinishedTurn;
  /** How many messages there are now; undefined if they could not be counted. */
  readonly seen: number | undefined;
}

export class MessageSource {
  readonly #options: Pick<RalphLoopOptions, 'getMessages' | 'getTranscriptPath'>;
  readonly #tell: Announcer;

  readonly #timers: Timers;

  constructor(
    options: Pick<RalphLoopOptions, 'getMessages' | 'getTranscriptPath'>,
    tell: Announcer,
    timers: Timers,
  ) {
    this.#options = options;
    this.#tell = tell;
    this.#timers = timers;
  }

  /** How many messages a session has; undefined if they cannot be counted. */
  async count(session: string): Promise<number | undefined> {
    const path = this.#transcript(session);
    const all = path === undefined ? await this.#ask(session) : (readTranscript(path)?.messages ?? []);
    return all?.length;
  }

  /** What came after the first `seen` messages. */
  async lastTurn(session: string, seen: number | undefined): Promise<LastTurn> {
    const path = this.#transcript(session);
    if (path !== undefined) {
      const written = readTranscript(path)?.messages ?? [];
      const latest = newMessages(written, seen);
      if (latest.some(({ role }) => role === 'assistant'))
        return { turn: finishedTurn(latest), seen: written.length };
    }
    const all = await this.#ask(session);
    if (all === null) return { turn: finishedTurn([]), seen: undefined };
    // The entries of a transcript and the messages of the host program are not counted alike.
    return path === undefined
      ? { turn: finishedTurn(newMessages(all, seen)), seen: all.length }
      : { turn: finishedTurn(newMessages(all, undefined)), seen: undefined };
  }

  #transcript(sessionId: string): string | undefined {
    try {
      return this.#options.getTranscriptPath?.(sessionId);
    } catch (error) {
      this.#tell.warn('Failed to get transcript', { sessionId, error: String(error) });
      return undefined;
    }
  }

  async #ask(sessionId: string): Promise<readonly HookMessage[] | null> {
    const { getMessages } = this.#options;
    if (getMessages === undefined) return [];
    try {
      return await withTimeout(getMessages(sessionId), MESSAGES_TIMEOUT, this.#timers);
    } catch (error) {
      this.#tell.warn('Failed to get messages', { sessionId, error: String(error) });
      return null;
    }
  }
}

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
