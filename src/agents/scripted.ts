import type { Agent, AgentEvent, Usage } from './agent.ts';
import { jsonLines } from './json-lines.ts';
import { count, isRecord, number, record, text, textOrNull, type Json } from './json.ts';
import { todosIn } from './tool-input.ts';
import { readTrouble } from './trouble.ts';

/**
 * A command that prints `AgentEvent`s, one JSON object per line: for demos, tests and your own agents. Usage is
 * `tokens: {input, output, cacheRead, cacheWrite}` and `costUsd`, both for the whole run so far. A result may have its
 * number of `steps`, and the `kind` of its error if the message alone does not show it. With `isAttempt`, an error of the network
 * is a failure like any other.
 */
export const scripted: Agent = {
  name: 'scripted',
  call: null,
  reports: 'cost',
  remedies: {},
  read: ({ startedAt }) =>
    jsonLines({
      take: (value) => eventsOf(value, startedAt),
      // Without a result, the exit code decides.
      hasOptionalResult: true,
    }),
};

function eventsOf(value: Json, startedAt: number): readonly AgentEvent[] | null {
  const [id, message] = [text(value['id']), text(value['message'])];
  const usage = usageOf(value);
  const session = textOrNull(value['session']);
  switch (value['type']) {
    case 'text':
      return [{ type: 'text', text: text(value['text']), message }];
    case 'thought':
      return [{ type: 'thought', text: text(value['text']) }];
    case 'tool.start':
      return [{ type: 'tool.start', id, name: text(value['name']), input: text(value['input']) }];
    case 'tool.end':
      return [{ type: 'tool.end', id, ok: value['ok'] !== false, output: text(value['output']) }];
    case 'todo':
      return [{ type: 'todo', items: todosIn(value) }];
    case 'progress':
      return [{ type: 'progress', text: text(value['text']), usage, session }];
    case 'retry': {
      const { error } = readTrouble({ message: text(value['error']) }, startedAt);
      const [attempt, most] = [count(value['attempt']), number(value['most'])];
      return [{ type: 'retry', attempt, most, waitMs: number(value['waitMs']), error }];
    }
    case 'limit':
      return [{ type: 'limit', resetsAt: number(value['resetsAt']), message }];
    case 'denied':
      return [{ type: 'denied', tool: text(value['tool']), message }];
    case 'result': {
      const errorText = text(value['error']);
      const read = errorText === '' ? null : readTrouble({ message: errorText }, startedAt).error;
      const kind = EXPLICIT_KINDS.find((known) => known === value['kind']);
      const stated = read === null || kind === undefined ? read : { ...read, kind };
      const isAttempt = value['isAttempt'] === true && stated?.kind === 'transient';
      const error = stated !== null && isAttempt ? { ...stated, kind: 'other' as const } : stated;
      const ok = value['ok'] === true;
      const steps = number(value['steps']);
      const result = { type: 'result', ok, text: textOrNull(value['text']), usage, session, error } as const;
      const answer = textOrNull(value['answer']);
      return [
        {
          ...result,
          ...(steps === null ? {} : { steps: Math.max(0, Math.round(steps)) }),
          ...(answer === null ? {} : { answer }),
        },
      ];
    }
    default:
      return null;
  }
}

/** Error kinds that the agent may state itself. */
const EXPLICIT_KINDS = [
  'command-not-found',
  'not-executable',
  'invalid-configuration',
  'authentication',
  'out-of-credit',
  'blocked',
  'unknown-model',
  'permission-denied',
  'request-refused',
  'transient',
  'other',
] as const;

function usageOf(value: Json): Usage | null {
  const costUsd = number(value['costUsd']);
  const stated = value['tokens'];
  if (costUsd === null && !isRecord(stated)) return null;
  const tokens = record(stated);
  const [input, output] = [count(tokens['input']), count(tokens['output'])];
  const [cacheRead, cacheWrite] = [count(tokens['cacheRead']), count(tokens['cacheWrite'])];
  const model = textOrNull(value['model']);
  return {
    parts: isRecord(stated) ? [{ model, tokens: { input, output, cacheRead, cacheWrite } }] : [],
    costUsd,
    isWholeSession: false,
  };
}
