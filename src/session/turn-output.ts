import { createHash } from 'node:crypto';
import type { TurnOutput } from '../hosts/session.ts';
import type { FinishedTurn, TurnMessage } from './turn.ts';

/** A turn as the output of a run, in the format of the agent `scripted`. */
export function turnOutput(turn: FinishedTurn): TurnOutput {
  const { error, tokens, costUsd, model, steps } = turn;
  const said = turn.messages.flatMap(({ role }, index) => (role === 'assistant' ? [index] : []));
  const counting = new Set(said.slice(-COUNTING));
  const events = [
    ...turn.messages.flatMap((message, index) => eventOf(message, index, counting.has(index))),
    ...(error?.limit === undefined
      ? []
      : [{ type: 'limit', message: error.message, resetsAt: error.limit.resetsAt ?? undefined }]),
    {
      type: 'result',
      ok: error === undefined,
      text: turn.messages[said.at(-1) ?? -1]?.text ?? '',
      error: error?.message,
      tokens,
      costUsd,
      model,
      steps,
      answer: answerOf(turn),
    },
  ];
  const output = events.map((event) => `${JSON.stringify(event)}\n`).join('');
  return { output, code: error === undefined ? 0 : 1 };
}

/** Identifies what the agent said in a turn in which it called no tool; undefined for any other turn. */
function answerOf({ messages, steps, error }: FinishedTurn): string | undefined {
  if (steps !== 0 || error !== undefined) return undefined;
  const said = messages.flatMap(({ role, text }) => (role === 'assistant' ? [text.trim()] : [])).join('\n');
  return said === '' ? undefined : createHash('sha256').update(said).digest('hex').slice(0, 16);
}

/** How many of the agent's last messages can complete a loop (S5.59). */
const COUNTING = 3;

/** What people type is part of no run's output; tools, reasoning and earlier messages are shown, and complete nothing. */
function eventOf({ role, text }: TurnMessage, index: number, counts: boolean): readonly object[] {
  switch (role) {
    case 'assistant':
      return [counts ? { type: 'text', text, message: `message-${index}` } : { type: 'progress', text }];
    case 'reasoning':
      return [{ type: 'thought', text }];
    case 'tool': {
      const id = `tool-${index}`;
      return [
        { type: 'tool.start', id, name: 'tool', input: '' },
        { type: 'tool.end', id, output: text },
      ];
    }
    case 'user':
      return [];
  }
}
