import { LineSplitter } from '../process/lines.ts';
import type { Agent, AgentEvent } from './agent.ts';

/** A command that prints `AgentEvent`s, one JSON object a line: for demonstrations, tests and agents of one's own. */
export const scripted: Agent = {
  name: 'scripted',
  read() {
    const lines = new LineSplitter();
    return {
      push: (chunk) => lines.push(chunk).flatMap(parse),
      end: () => [lines.end()].flatMap((line) => (line === undefined ? [] : parse(line))),
    };
  },
};

function parse(line: string | null): readonly AgentEvent[] {
  if (line === null || line.trim() === '') return [];
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return [{ type: 'unknown', line }];
  }
  return [isRecord(value) ? (fromRecord(value) ?? { type: 'unknown', line }) : { type: 'unknown', line }];
}

function fromRecord(value: Record<string, unknown>): AgentEvent | null {
  const text = (key: string): string => (typeof value[key] === 'string' ? value[key] : '');
  const usage = { tokens: tokens(value['tokens']), cost: cost(value['costUsd']) };
  switch (value['type']) {
    case 'text':
      return { type: 'text', text: text('text'), message: text('message') };
    case 'tool.start':
      return { type: 'tool.start', id: text('id'), name: text('name'), input: text('input') };
    case 'tool.end':
      return { type: 'tool.end', id: text('id'), ok: value['ok'] !== false, output: text('output') };
    case 'todo':
      return { type: 'todo', items: todos(value['items']) };
    case 'progress':
      return { type: 'progress', text: text('text'), ...usage };
    case 'limit': {
      const resetsAt = typeof value['resetsAt'] === 'number' ? value['resetsAt'] : null;
      return { type: 'limit', resetsAt, message: text('message') };
    }
    case 'result': {
      const message = text('error');
      return {
        type: 'result',
        ok: value['ok'] === true,
        text: typeof value['text'] === 'string' ? value['text'] : null,
        ...usage,
        error: message === '' ? null : { kind: 'other', message },
      };
    }
    default:
      return null;
  }
}

function tokens(
  value: unknown,
): { input: number; output: number; cacheRead: number; cacheWrite: number } | null {
  if (!isRecord(value)) return null;
  const count = (key: string): number => (typeof value[key] === 'number' ? value[key] : 0);
  return {
    input: count('input'),
    output: count('output'),
    cacheRead: count('cacheRead'),
    cacheWrite: count('cacheWrite'),
  };
}

function cost(value: unknown): { usd: number; source: 'reported' } | null {
  return typeof value === 'number' ? { usd: value, source: 'reported' } : null;
}

function todos(value: unknown): readonly { text: string; done: boolean }[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((item: unknown) =>
    isRecord(item) ? [{ text: String(item['text']), done: item['done'] === true }] : [],
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
