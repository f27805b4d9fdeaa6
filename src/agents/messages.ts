/**
 * The stream that Claude Code prints, and with small differences Amp and Qwen Code: `system`, `assistant`, `user`, and one
 * `result`. Where they differ, the adapter says how.
 */
import type { RunError, Tokens } from '../loop/event.ts';
import { addTokens, NOTHING_SPENT } from '../loop/limits.ts';
import type { AgentEvent, ModelUsage, RunFacts, TodoItem, Usage } from './agent.ts';
import { count, isRecord, list, momentOf, number, record, text, textOrNull, type Json } from './json.ts';
import type { Protocol } from './json-lines.ts';
import { isTodoTool, statusOf, summarize, todosIn } from './tool-input.ts';
import { failedResult, readTrouble, type Reported } from './trouble.ts';

export interface Dialect {
  /** What a usage record says. */
  tokens(usage: Json): Tokens;
  /** What the run has used since its last result, where it says so: one run may have several. */
  usageSince?(result: Json): Usage | null;
  /** What the whole run has used; null where the result does not say. */
  usage(result: Json): Usage | null;
  /** What a failed result says. */
  error(result: Json): Reported;
  /** What of a text is the agent's own, where the CLI puts in words of its own. */
  words?(text: string): string;
  /** What a tool really came to, where its result hides it. */
  outcome?(output: string): { readonly ok: boolean; readonly output: string } | null;
}

export function messageProtocol(dialect: Dialect, { startedAt }: RunFacts): Protocol {
  const spending = new Spending(dialect);
  const tasks: TodoItem[] = [];
  const quiet = new Set<string>();
  const denied: string[] = [];
  /** Tools at work, and whether one of them could be used. */
  const started = new Set<string>();
  let hasWorked = false;
  /** Tasks in the background: it goes on when they are done, also after a result. */
  let background = 0;
  let held: readonly AgentEvent[] = [];
  let session: string | null = null;
  let model: string | null = null;
  let untitled = 0;

  const assistant = (event: Json): readonly AgentEvent[] | null => {
    const message = event['message'];
    if (!isRecord(message)) return null;
    const isOwn = event['parent_tool_use_id'] === null || event['parent_tool_use_id'] === undefined;
    const id = textOrNull(message['id']) ?? `message-${++untitled}`;
    // What the CLI says in the agent's place comes again in the result.
    if (message['model'] === '<synthetic>' || event['is_api_error_message'] === true) return [];
    model = textOrNull(message['model']) ?? model;
    const events = list(message['content']).flatMap((block) => content(record(block), id, isOwn));
    const changed = spending.add(id, record(message['usage']), textOrNull(message['model']) ?? model);
    return changed ? [...events, { type: 'progress', text: '', usage: spending.total, session }] : events;
  };

  const content = (block: Json, message: string, isOwn: boolean): readonly AgentEvent[] => {
    switch (block['type']) {
      case 'text': {
        const words = dialect.words?.(text(block['text'])) ?? text(block['text']);
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
      quiet.add(id);
      return [{ type: 'todo', items: todosIn(input) }];
    }
    if (name === 'TaskCreate' || name === 'TaskUpdate') {
      quiet.add(id);
      if (name === 'TaskCreate')
        tasks.push({ text: text(input['subject']), status: 'pending', priority: null });
      const index = Number(input['taskId']) - 1;
      const task = tasks[index];
      const status = textOrNull(input['status']);
      if (task !== undefined && status !== null) tasks[index] = { ...task, status: statusOf(status) };
      return [{ type: 'todo', items: tasks.slice(-MOST_TASKS) }];
    }
    started.add(id);
    return [{ type: 'tool.start', id, name, input: summarize(name, input) }];
  };

  const toolResults = (event: Json): readonly AgentEvent[] =>
    list(record(event['message'])['content']).flatMap((item): readonly AgentEvent[] => {
      const block = record(item);
      const id = text(block['tool_use_id']);
      if (block['type'] !== 'tool_result' || quiet.delete(id)) return [];
      const output = plainText(block['content']);
      const seen = dialect.outcome?.(output) ?? { ok: true, output };
      const ok = seen.ok && block['is_error'] !== true;
      if (started.delete(id)) hasWorked ||= ok;
      return [{ type: 'tool.end', id, ok, output: seen.output }];
    });

  const system = (event: Json): readonly AgentEvent[] | null => {
    // Document 001 has it without a kind.
    const kind: unknown = event['subtype'] ?? (typeof event['session_id'] === 'string' ? 'init' : null);
    switch (kind) {
      case 'init':
        session = textOrNull(event['session_id']) ?? session;
        model = textOrNull(event['model']) ?? model;
        return [{ type: 'progress', text: `session: ${session ?? 'unknown'}`, usage: null, session }];
      case 'api_retry':
        return [retry(event, startedAt)];
      case 'retry':
        // Each is told a second time, without its number, when it begins.
        return isRecord(event['data']) && number(event['data']['attempt']) !== null
          ? [retry(event['data'], startedAt)]
          : [];
      case 'permission_denied': {
        const tool = text(event['tool_name']);
        denied.push(tool);
        return [{ type: 'denied', tool, message: text(event['message']) }];
      }
      case 'background_tasks_changed':
        background = list(event['tasks']).length;
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
    const usage = since === null ? (dialect.usage(event) ?? spending.total) : spending.settle(since);
    session = textOrNull(event['session_id']) ?? session;
    const refused = list(event['permission_denials']).map((denial) => text(record(denial)['tool_name']));
    const tools = [...new Set([...denied, ...refused])].filter((tool) => tool !== '');
    if (!failed) {
      // One that could do something went on without what it was refused; there may be a rule that refuses it.
      const error: RunError | null =
        tools.length === 0 || hasWorked
          ? null
          : { kind: 'permission-denied', message: `the agent was not allowed to use ${tools.join(', ')}` };
      return [
        { type: 'result', ok: error === null, text: textOrNull(event['result']), usage, session, error },
      ];
    }
    return failedResult(readTrouble(dialect.error(event), startedAt), { usage, session });
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
          held = background === 0 || events === null ? [] : events;
          return held.length === 0 ? events : held.flatMap(asProgress);
        }
        case 'rate_limit_event':
          return rateLimit(record(event['rate_limit_info']));
        case 'stream_event':
          return [];
        default:
          return null;
      }
    },
    end: () => held,
  };
}

/** A result that may not be the last: what was used is true all the same. */
function asProgress(event: AgentEvent): readonly AgentEvent[] {
  return event.type === 'result'
    ? [
        {
          type: 'progress',
          text: 'waiting for tasks in the background',
          usage: event.usage,
          session: event.session,
        },
      ]
    : [event];
}

const MOST_TASKS = 200;

function retry(event: Json, startedAt: number): AgentEvent {
  const word = text(event['error']);
  const status = number(event['error_status']);
  const message = [status, word.replaceAll('_', ' ')]
    .filter((part) => part !== null && part !== '')
    .join(' ');
  const { error } = readTrouble(
    { message: message === '' ? 'no answer' : message, status, code: word },
    startedAt,
  );
  return {
    type: 'retry',
    attempt: count(event['attempt']),
    most: number(event['max_retries'] ?? event['maxRetries']),
    waitMs: number(event['retry_delay_ms'] ?? event['delayMs']),
    error,
  };
}

/** What a subscription has left: a warning is only news, a rejection is the limit. */
function rateLimit(info: Json): readonly AgentEvent[] {
  const which = text(info['rateLimitType']).replaceAll('_', ' ');
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
      text: `${Math.round(used * 100)} % of the ${which} limit is used`,
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

/**
 * What the messages say they used. One answer of the model comes in several of them, each with what was known by then:
 * the last one of an answer counts, and they are never added up.
 */
class Spending {
  readonly #dialect: Dialect;
  readonly #open = new Map<string, ModelUsage>();
  readonly #closed = new Map<string, ModelUsage>();
  /** What the results so far have said. */
  #settled: Usage | null = null;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  /** True if there is something new. */
  add(id: string, usage: Json, model: string | null): boolean {
    const tokens = this.#dialect.tokens(usage);
    if (tokens.input + tokens.output + tokens.cacheRead + tokens.cacheWrite === 0) return false;
    this.#open.delete(id);
    this.#open.set(id, { model, tokens });
    const [oldest] = this.#open;
    if (this.#open.size > MOST_OPEN && oldest !== undefined) {
      this.#open.delete(oldest[0]);
      addTo(this.#closed, oldest[1]);
    }
    return true;
  }

  /** All of the run so far. */
  get total(): Usage | null {
    const sums = new Map(this.#closed);
    for (const part of this.#open.values()) addTo(sums, part);
    if (sums.size === 0) return this.#settled;
    for (const part of this.#settled?.parts ?? []) addTo(sums, part);
    return { parts: [...sums.values()], costUsd: null, isWholeSession: false };
  }

  /** A result says exactly what its messages only hinted at. */
  settle(since: Usage): Usage {
    const sums = new Map<string, ModelUsage>();
    for (const part of [...(this.#settled?.parts ?? []), ...since.parts]) addTo(sums, part);
    const costUsd = since.costUsd === null ? null : (this.#settled?.costUsd ?? 0) + since.costUsd;
    this.#open.clear();
    this.#closed.clear();
    this.#settled = { parts: [...sums.values()], costUsd, isWholeSession: false };
    return this.#settled;
  }
}

/** Answers that may still be going on at the same time. */
const MOST_OPEN = 32;

function addTo(sums: Map<string, ModelUsage>, { model, tokens }: ModelUsage): void {
  const key = model ?? '';
  sums.set(key, { model, tokens: addTokens(sums.get(key)?.tokens ?? NOTHING_SPENT.tokens, tokens) });
}
