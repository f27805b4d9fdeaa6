/**
 * The stream of Claude Code and, with small differences, of Amp and Qwen Code: `system`, `assistant` and `user` records, and
 * one `result`. A `Dialect` has the differences.
 */
import type { RunError, Tokens } from '../loop/event.ts';
import type { AgentEvent, RunFacts, TodoItem, Usage } from './agent.ts';
import { count, isRecord, list, momentOf, number, record, text, textOrNull, type Json } from './json.ts';
import type { Protocol } from './json-lines.ts';
import { MessageUsage } from './message-usage.ts';
import { isTodoTool, statusOf, summarize, todosIn } from './tool-input.ts';
import { failedResult, readTrouble, type Reported } from './trouble.ts';

export interface Dialect {
  /** Reads a usage record. */
  tokens(usage: Json): Tokens;
  /** The usage since the last result, if the stream reports it: one run may have several results. */
  usageSince?(result: Json): Usage | null;
  /** The usage of the whole run; null if the result does not have it. */
  usage(result: Json): Usage | null;
  /** Reads the error of a failed result; `word` is the CLI's name for its last error, if the stream has it. */
  error(result: Json, word: string | null): Reported;
  /** Its messages have the usage of the moment at which the answer began. */
  readonly tellsUsageEarly?: true;
  /** Removes text that the CLI added to the agent's text. */
  ownText?(text: string): string;
  /** The real outcome of a tool call, if its result hides it. */
  outcome?(output: string): { readonly ok: boolean; readonly output: string } | null;
}

export function messageProtocol(dialect: Dialect, { startedAt }: RunFacts): Protocol {
  const messageUsage = new MessageUsage();
  const tasks: TodoItem[] = [];
  const hiddenTools = new Set<string>();
  const denied: string[] = [];
  /** Tool calls that have not ended, and whether one of them succeeded. */
  const openTools = new Set<string>();
  let hasUsedTool = false;
  /** The number of background tasks: the agent continues when they are done, even after a result. */
  let backgroundTasks = 0;
  let heldResult: readonly AgentEvent[] = [];
  let session: string | null = null;
  let model: string | null = null;
  let lastError: string | null = null;
  let messagesWithoutId = 0;
  /** The text of the last message, if that has no id. */
  let namelessText: string | null = null;

  const assistant = (event: Json): readonly AgentEvent[] | null => {
    const message = event['message'];
    if (!isRecord(message)) return null;
    const isOwn = event['parent_tool_use_id'] === null || event['parent_tool_use_id'] === undefined;
    const named = textOrNull(message['id']);
    const id = named ?? `message-${++messagesWithoutId}`;
    lastError = textOrNull(event['error']);
    // The result repeats messages that the CLI writes in place of the agent.
    if (message['model'] === '<synthetic>' || event['is_api_error_message'] === true) return [];
    model = textOrNull(message['model']) ?? model;
    const events: AgentEvent[] = [];
    let words = '';
    for (const block of list(message['content'])) {
      // The usage of an answer that has not ended is that of its beginning.
      if (dialect.tellsUsageEarly === true && message['stop_reason'] === null)
        messageUsage.streamed(id, lengthOf(record(block)));
      for (const one of content(record(block), id, isOwn)) {
        events.push(one);
        if (one.type === 'text') words += one.text;
      }
    }
    if (words !== '') namelessText = named === null ? words : null;
    const tokens = dialect.tokens(record(message['usage']));
    if (messageUsage.add(id, tokens, textOrNull(message['model']) ?? model))
      events.push({ type: 'progress', text: '', usage: messageUsage.total, session });
    return events;
  };

  const content = (block: Json, message: string, isOwn: boolean): readonly AgentEvent[] => {
    switch (block['type']) {
      case 'text': {
        const words = dialect.ownText?.(text(block['text'])) ?? text(block['text']);
        if (words === '') return [];
        return [isOwn ? { type: 'text', text: words, message } : { type: 'thought', text: words }];
      }
      case 'thinking':
        return [{ type: 'thought', text: text(block['thinking']) }];
      case 'tool_use':
        return toolUse(text(block['id']), text(block['name']), record(block['input']));
      default:
        return [];
    }
  };

  const toolUse = (id: string, name: string, input: Json): readonly AgentEvent[] => {
    if (name === '') return [];
    if (isTodoTool(name)) {
      hiddenTools.add(id);
      return [{ type: 'todo', items: todosIn(input) }];
    }
    if (name === 'TaskCreate' || name === 'TaskUpdate') {
      hiddenTools.add(id);
      if (name === 'TaskCreate')
        tasks.push({ text: text(input['subject']), status: 'pending', priority: null });
      const index = Number(input['taskId']) - 1;
      const task = tasks[index];
      const status = textOrNull(input['status']);
      if (task !== undefined && status !== null) tasks[index] = { ...task, status: statusOf(status) };
      return [{ type: 'todo', items: tasks.slice(-MAX_TASKS) }];
    }
    openTools.add(id);
    return [{ type: 'tool.start', id, name, input: summarize(name, input) }];
  };

  const toolResults = (event: Json): readonly AgentEvent[] =>
    list(record(event['message'])['content']).flatMap((item): readonly AgentEvent[] => {
      const block = record(item);
      const id = text(block['tool_use_id']);
      if (block['type'] !== 'tool_result' || hiddenTools.delete(id)) return [];
      const output = plainText(block['content']);
      const outcome = dialect.outcome?.(output) ?? { ok: true, output };
      const ok = outcome.ok && block['is_error'] !== true;
      if (openTools.delete(id)) hasUsedTool ||= ok;
      return [{ type: 'tool.end', id, ok, output: outcome.output }];
    });

  const system = (event: Json): readonly AgentEvent[] | null => {
    // In document 001 it has no subtype.
    const kind: unknown = event['subtype'] ?? (typeof event['session_id'] === 'string' ? 'init' : null);
    switch (kind) {
      case 'init':
        session = textOrNull(event['session_id']) ?? session;
        model = textOrNull(event['model']) ?? model;
        return [{ type: 'progress', text: `session: ${session ?? 'unknown'}`, usage: null, session }];
      case 'api_retry':
        return [retry(event, startedAt)];
      case 'retry':
        // Each retry is reported again when it starts, without its number.
        return isRecord(event['data']) && number(event['data']['attempt']) !== null
          ? [retry(event['data'], startedAt)]
          : [];
      case 'permission_denied': {
        const tool = text(event['tool_name']);
        denied.push(tool);
        return [{ type: 'denied', tool, message: text(event['message']) }];
      }
      case 'background_tasks_changed':
        backgroundTasks = list(event['tasks']).length;
        return [];
      default:
        return typeof kind === 'string' ? [] : null;
    }
  };

  const result = (event: Json): readonly AgentEvent[] | null => {
    const kind = event['subtype'] ?? (typeof event['result'] === 'string' ? 'success' : null);
    if (typeof kind !== 'string') return null;
    const failed = event['is_error'] === true || kind !== 'success';
    const since = dialect.usageSince?.(event) ?? null;
    const usage = since === null ? (dialect.usage(event) ?? messageUsage.total) : messageUsage.settle(since);
    session = textOrNull(event['session_id']) ?? session;
    const refused = list(event['permission_denials']).map((denial) => text(record(denial)['tool_name']));
    const tools = [...new Set([...denied, ...refused])].filter((tool) => tool !== '');
    if (!failed) {
      // An agent that used another tool could work without the denied one, which a rule may forbid on purpose.
      const error: RunError | null =
        tools.length === 0 || hasUsedTool
          ? null
          : { kind: 'permission-denied', message: `the agent was not allowed to use ${tools.join(', ')}` };
      const answer = textOrNull(event['result']);
      const end = { type: 'result', ok: error === null, text: answer, usage, session, error } as const;
      // Pieces of one message cannot be told from messages without ids, so this is no answer of its own.
      return [answer !== null && answer === namelessText ? { ...end, repeatsMessage: true } : end];
    }
    return failedResult(readTrouble(dialect.error(event, lastError), startedAt), { usage, session });
  };

  return {
    take(event) {
      switch (event['type']) {
        case 'system':
          return system(event);
        case 'assistant':
          return assistant(event);
        case 'user':
          return toolResults(event);
        case 'result': {
          const events = result(event);
          const isHeld = backgroundTasks > 0 && events !== null;
          heldResult = isHeld ? events.map(withoutUsage) : [];
          return isHeld ? events.flatMap(asProgress) : events;
        }
        case 'rate_limit_event':
          return rateLimit(record(event['rate_limit_info']));
        case 'stream_event':
          return [];
        default:
          return null;
      }
    },
    end: () => heldResult,
  };
}

/** A result whose usage counts already: when it becomes the last one, more may have been used since. */
function withoutUsage(event: AgentEvent): AgentEvent {
  return event.type === 'result' ? { ...event, usage: null } : event;
}

/** A result that may not be the last one. */
function asProgress(event: AgentEvent): readonly AgentEvent[] {
  return event.type === 'result'
    ? [
        {
          type: 'progress',
          text: 'waiting for background tasks',
          usage: event.usage,
          session: event.session,
        },
      ]
    : [event];
}

const MAX_TASKS = 200;

function retry(event: Json, startedAt: number): AgentEvent {
  const word = text(event['error']);
  const status = number(event['error_status']);
  const message = `${status ?? ''} ${word.replaceAll('_', ' ')}`.trim();
  const { error } =
    (status === null ? UNEXPLAINED[word] : undefined) ??
    readTrouble({ message, status, codes: [word] }, startedAt);
  return {
    type: 'retry',
    attempt: count(event['attempt']),
    most: number(event['max_retries'] ?? event['maxRetries']),
    waitMs: number(event['retry_delay_ms'] ?? event['delayMs']),
    error,
  };
}

/** The words of retries without a status: the one of Claude Code for a missing response, and the missing one of Qwen Code. */
const UNEXPLAINED: Readonly<Record<string, { readonly error: RunError }>> = {
  unknown: {
    error: { kind: 'transient', message: 'no response: the connection was refused, dropped or timed out' },
  },
  '': { error: { kind: 'transient', message: 'no reason given; it may be on stderr' } },
};

/** The limits of a subscription: a warning is only progress, a rejection means that the limit is reached. */
function rateLimit(info: Json): readonly AgentEvent[] {
  const which = (textOrNull(info['rateLimitType']) ?? 'usage').replaceAll('_', ' ');
  if (info['status'] === 'rejected') {
    return [
      {
        type: 'limit',
        resetsAt: momentOf(info['resetsAt']),
        message: `the ${which} limit is reached`,
      },
    ];
  }
  const used = number(info['utilization']);
  if (info['status'] !== 'allowed_warning' || used === null) return [];
  return [
    {
      type: 'progress',
      text: `${Math.round(used * 100)}% of the ${which} limit is used`,
      usage: null,
      session: null,
    },
  ];
}

function plainText(value: unknown): string {
  if (typeof value === 'string') return value;
  return list(value)
    .map((block) => text(record(block)['text']))
    .filter((part) => part !== '')
    .join('\n');
}

/** The bytes that the model wrote for a part of its message. */
function lengthOf(block: Json): number {
  const input = isRecord(block['input']) ? JSON.stringify(block['input']) : '';
  return Buffer.byteLength(text(block['text']) + text(block['thinking']) + text(block['name']) + input);
}
