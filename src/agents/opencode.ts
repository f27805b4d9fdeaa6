import { NO_SETTINGS } from './agent.ts';
import type { RunError, Tokens, UsageLimit } from '../loop/event.ts';
import { addTokens, NOTHING_SPENT } from '../loop/limits.ts';
import type { Agent, AgentEvent, Complaint, RunFacts, Usage } from './agent.ts';
import { jsonLines, type Protocol } from './json-lines.ts';
import {
  JSON_STRINGS,
  count,
  isRecord,
  momentOf,
  number,
  parsed,
  record,
  text,
  textOrNull,
  type Json,
} from './json.ts';
import { positional } from './prompt-argument.ts';
import { isTodoTool, summarize, todosIn } from './tool-input.ts';
import { failedResult, readTrouble, type Trouble } from './trouble.ts';

const LOG_FLAG = '--print-logs';

/** opencode. Its stream has no result: the end of its last step decides whether the run succeeded. */
export const opencode: Agent = {
  name: 'opencode',
  reports: 'cost',
  repeatsAnswer: true,
  call: {
    command: 'opencode',
    install: 'npm install -g opencode-ai',
    triedVersion: '1.18.33',
    autonomous: ['--auto'],
    permissions: /^--(?:auto$|dangerously-)/,
    env: () => ({}),
    documented: null,
    model: (model) => ['--model', model],
    own: { commands: ['run'], flags: [], format: { options: ['--format'], value: 'json' } },
    // opencode adds quotation marks to a prompt in an argument.
    promptVia: 'stdin',
    args: ({ flags, prompt }) => [
      'run',
      '--format',
      'json',
      // Without a title it asks the model for one, and does not report what that costs.
      ...unlessGiven(flags, '--title', 'Ralph'),
      // It waits for a usage limit to reset without a word, except in its log.
      ...unlessGiven(flags, LOG_FLAG),
      ...unlessGiven(flags, '--log-level', 'ERROR'),
      ...flags,
      ...(prompt === null ? [] : positional(prompt)),
    ],
    credentials: ['OPENCODE_API_KEY', 'ANTHROPIC_API_KEY', 'OPENAI_API_KEY'],
    account: ['XDG_DATA_HOME', 'OPENCODE_CONFIG'],
    files: [
      {
        folder: { variable: 'XDG_DATA_HOME', below: '.local/share' },
        path: 'opencode',
        ...NO_SETTINGS,
        made: ['bin'],
      },
      { folder: { variable: 'XDG_STATE_HOME', below: '.local/state' }, path: 'opencode', ...NO_SETTINGS },
      {
        folder: { variable: 'XDG_CACHE_HOME', below: '.cache' },
        path: 'opencode',
        ...NO_SETTINGS,
        made: ['bin', 'node_modules', 'package.json'],
      },
      {
        folder: { variable: 'XDG_CONFIG_HOME', below: '.config' },
        path: 'opencode',
        settings: [
          'opencode.json',
          'opencode.jsonc',
          'config.json',
          'AGENTS.md',
          'mode',
          'modes',
          'bin',
          'scripts',
        ],
        made: ['node_modules', 'package.json', 'package-lock.json'],
        settingsFolders: [
          'plugin',
          'plugins',
          'tool',
          'tools',
          'agent',
          'agents',
          'command',
          'commands',
          'skill',
          'skills',
        ],
      },
    ],
    projectFiles: [
      'opencode.json',
      'opencode.jsonc',
      '.opencode/opencode.json',
      '.opencode/opencode.jsonc',
      '.opencode/plugin',
      '.opencode/plugins',
      '.opencode/tool',
      '.opencode/tools',
    ],
    login: {
      folder: { variable: 'XDG_DATA_HOME', below: '.local/share' },
      path: 'opencode/auth.json',
      isOnlyPlace: false,
    },
  },
  remedies: {
    authentication: 'log in with: opencode auth login',
    'unknown-model': 'choose another model with --model provider/model (to list them: opencode models)',
  },
  read: (run) => jsonLines(opencodeProtocol(run)),
  readComplaint(line, { startedAt }) {
    const [, entry = ''] = LOG_ENTRY.exec(line) ?? [];
    const quoted = streamErrorIn(line);
    const isLimit = entry !== '' && namesLimit(entry);
    if (quoted === undefined && !isLimit) return null;
    const message = (quoted === undefined ? limitIn(entry) : innerText(quoted)).replace(/^\w*Error: /, '');
    const { error, limit } = readTrouble({ message }, startedAt);
    if (limit === null && isLimit && (error.kind === 'transient' || error.kind === 'other'))
      return complaint(
        { kind: 'transient', message: error.message },
        { resetsAt: null, message: error.message },
      );
    // A request that is refused is in the stream too, and of other lines only a limit counts.
    const isKnown = quoted !== undefined && error.kind !== 'other' && error.kind !== 'request-refused';
    return limit !== null || isKnown ? complaint(error, limit) : null;
  },
  ownLog: { prefix: 'timestamp=', flag: LOG_FLAG },
};

function complaint(error: RunError, limit: UsageLimit | null): Complaint {
  return { attempt: null, most: null, waitMs: null, error, ...(limit === null ? {} : { limit }) };
}

/** A line of its log that reports trouble, without its head; other levels may repeat what the agent says and reads. */
const LOG_ENTRY = /^timestamp=\S+ level=(?:ERROR|WARN) (?:run=\S+ )?(.*)/;

function namesLimit(message: string): boolean {
  return RATE_LIMIT.test(message) || readTrouble({ message }, 0).limit !== null;
}

const RATE_LIMIT = /\brate[ _-]?limit|\btoo many requests\b|\b429\b|\busage[ _-]limit/i;

/** What an entry of its log says about a limit. */
function limitIn(entry: string): string {
  const texts = [...entry.matchAll(JSON_STRINGS)].map(([quoted]) => innerText(quoted));
  return texts.find(namesLimit) ?? entry;
}

/** `… level=ERROR … message="stream error" … error.error="AI_APICallError: The usage limit has been reached"` */
function streamErrorIn(line: string): string | undefined {
  const start = line.startsWith('timestamp=') ? line.indexOf(STREAM_ERROR) : -1;
  const field = start < 0 ? -1 : line.lastIndexOf(ERROR_FIELD);
  if (field < start + STREAM_ERROR.length) return undefined;
  return line.slice(field + ERROR_FIELD.length).match(JSON_STRINGS)?.[0];
}

const STREAM_ERROR = ' message="stream error" ';
const ERROR_FIELD = 'error.error=';

/** The text in a JSON string; empty if it is not one. */
function innerText(quoted: string): string {
  return text(parsed(`{"text":${quoted}}`)['text']);
}

/** An option of the adapter, unless the user has given it. */
function unlessGiven(flags: readonly string[], option: string, ...value: string[]): readonly string[] {
  return flags.some((flag) => flag === option || flag.startsWith(`${option}=`)) ? [] : [option, ...value];
}

function opencodeProtocol({ startedAt }: RunFacts): Protocol {
  let session: string | null = null;
  let tokens = NOTHING_SPENT.tokens;
  let cost = 0;
  let steps = 0;
  let lastReason = '';
  let answer: { readonly message: string; text: string } | null = null;
  let trouble: Trouble | null = null;
  /** Consecutive steps without any answer, and consecutive requests that were too long: opencode repeats both forever. */
  let emptySteps = 0;
  let overflows = 0;
  let isStepEmpty = true;
  /** The context was too long: until a synthetic message continues the work, its text is a summary for itself. */
  let isCompacting = false;

  const usage = (): Usage | null =>
    // opencode reports a cost of 0 if it does not know the price, so 0 means unknown.
    steps === 0
      ? null
      : { parts: [{ model: null, tokens }], costUsd: cost > 0 ? cost : null, isWholeSession: false };

  const textPart = (part: Json): readonly AgentEvent[] => {
    // After compacting, opencode writes this message to itself to continue.
    if (part['synthetic'] === true) {
      isCompacting = false;
      lastReason = '';
      return [];
    }
    const words = text(part['text']);
    isStepEmpty = false;
    if (isCompacting) return [{ type: 'thought', text: words }];
    const message = text(part['messageID']);
    answer = answer?.message === message ? { message, text: answer.text + words } : { message, text: words };
    return [{ type: 'text', text: words, message }];
  };

  const take = ({ type, part, error }: Json): readonly AgentEvent[] | null => {
    if (type === 'error') return isRecord(error) ? errorEvent(error) : null;
    return isRecord(part) ? takePart(type, part) : null;
  };

  const errorEvent = (error: Json): readonly AgentEvent[] | null => {
    if (typeof error['name'] !== 'string') return null;
    trouble = readError(error, startedAt);
    isCompacting = error['name'] === 'ContextOverflowError';
    lastReason = '';
    if (!isCompacting) return [];
    overflows++;
    return [{ type: 'retry', attempt: overflows, most: null, waitMs: null, error: trouble.error }];
  };

  const takePart = (type: unknown, part: Json): readonly AgentEvent[] | null => {
    switch (type) {
      case 'step_start':
        if (part['type'] !== 'step-start') return null;
        if (!isCompacting) trouble = null;
        lastReason = '';
        isStepEmpty = true;
        return [];
      case 'text':
        return typeof part['text'] === 'string' ? textPart(part) : null;
      case 'reasoning':
        return [{ type: 'thought', text: text(part['text']) }];
      case 'tool_use':
        if (typeof part['tool'] !== 'string') return null;
        isStepEmpty = false;
        return tool(part);
      case 'step_finish': {
        if (typeof part['reason'] !== 'string') return null;
        tokens = addTokens(tokens, tokensOf(record(part['tokens'])));
        cost += count(part['cost']);
        steps++;
        lastReason = text(part['reason']);
        if (lastReason === 'unknown' && isStepEmpty) return [retryEmpty(++emptySteps)];
        emptySteps = 0;
        if (!isCompacting) overflows = 0;
        return [{ type: 'progress', text: '', usage: usage(), session }];
      }
      default:
        return null;
    }
  };

  return {
    take(event) {
      const events = take(event);
      const sessionId = textOrNull(event['sessionID']);
      if (events === null || session !== null || sessionId === null) return events;
      session = sessionId;
      return [{ type: 'progress', text: `session: ${session}`, usage: null, session }, ...events];
    },
    end() {
      if (trouble !== null) return failedResult(trouble, { usage: usage(), session });
      if (lastReason !== 'stop') return [];
      return [{ type: 'result', ok: true, text: answer?.text ?? null, usage: usage(), session, error: null }];
    },
  };
}

/** A captive portal answers with a web page; opencode takes that for an answer without text and asks again at once. */
function retryEmpty(attempt: number): AgentEvent {
  const error = {
    kind: 'transient',
    message: 'the response has no content; something else may have answered',
  } as const;
  return { type: 'retry', attempt, most: null, waitMs: null, error, isEndless: true };
}

/** opencode reports a tool call only after it has ended. */
function tool(part: Json): readonly AgentEvent[] {
  const state = record(part['state']);
  const name = text(part['tool']);
  const id = text(part['callID']);
  if (isTodoTool(name)) return [{ type: 'todo', items: todosIn(state['input']) }];
  const code = number(record(state['metadata'])['exit']);
  const ok = state['status'] !== 'error' && (code === null || code === 0);
  const output = textOrNull(state['output']) ?? text(state['error']);
  return [
    { type: 'tool.start', id, name, input: summarize(name, state['input']) },
    { type: 'tool.end', id, ok, output },
  ];
}

/** Reads an error of opencode, as its stream and its events report it. */
export function readError(error: Json, startedAt: number): Trouble {
  const data = record(error['data']);
  const body = parsed(data['responseBody']);
  const inner = record(body['error']);
  return readTrouble(
    {
      message: textOrNull(data['message']) ?? text(error['name']),
      status: number(data['statusCode']),
      codes: [textOrNull(inner['code']), textOrNull(inner['type'])],
      resetsAt: momentOf(inner['resets_at']),
      isForeign: typeof data['responseBody'] === 'string' && Object.keys(body).length === 0,
    },
    startedAt,
  );
}

/** Reasoning counts as output. */
function tokensOf(step: Json): Tokens {
  const cache = record(step['cache']);
  return {
    input: count(step['input']),
    output: count(step['output']) + count(step['reasoning']),
    cacheRead: count(cache['read']),
    cacheWrite: count(cache['write']),
  };
}
