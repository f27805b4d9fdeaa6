import { readdirSync, readFileSync } from 'node:fs';
import type { AgentEvent } from '../../src/agents/agent.ts';
import { agentNamed } from '../../src/agents/agents.ts';
import { readRun, type RunReader } from '../../src/agents/reader.ts';
import type { ErrorKind, OutputSnapshot, RunClass } from '../../src/loop/event.ts';
import { classify } from '../../src/loop/failure.ts';
import { presets } from '../../src/loop/presets.ts';
import type { SessionSpend } from '../../src/loop/state.ts';
import { searchInTime } from '../../src/owner/pattern-search.ts';
import { runWith } from './run-with.ts';

/** The agents with recorded streams. */
export const RECORDED = ['amp', 'claude', 'codex', 'copilot', 'gemini', 'opencode', 'qwen'] as const;
export type Recorded = (typeof RECORDED)[number];

const FOLDER = new URL('../fixtures/agent-streams/', import.meta.url);

interface Meta {
  readonly usagePerModelCall: Readonly<Record<'input' | 'output' | 'cacheRead' | 'cacheWrite', number>>;
  readonly cases: Readonly<Record<string, RecordedCase>>;
}

export interface RecordedCase {
  readonly exitCode: number | null;
  readonly signal?: string;
  readonly modelRequests: number;
  /** How long it ran with its default settings, if that was measured. */
  readonly seconds?: number;
  readonly stderr?: string;
}

const metas = new Map<string, Meta>();

export function metaOf(agent: Recorded): Meta {
  const known = metas.get(agent);
  if (known !== undefined) return known;
  // eslint-disable-next-line typescript/no-unsafe-type-assertion -- a file of ours
  const meta = JSON.parse(readFileSync(new URL(`${agent}/meta.json`, FOLDER), 'utf8')) as Meta;
  metas.set(agent, meta);
  return meta;
}

export function casesOf(agent: Recorded): readonly string[] {
  return readdirSync(new URL(`${agent}/`, FOLDER))
    .filter((file) => file.endsWith('.jsonl'))
    .map((file) => file.slice(0, -'.jsonl'.length))
    .toSorted();
}

export function recording(agent: Recorded, name: string): Buffer {
  return readFileSync(new URL(`${agent}/${name}.jsonl`, FOLDER));
}

/** The first session id in the bytes, found without a parser for the stream. */
export function sessionIn(bytes: Buffer): string | null {
  return /"(?:session_id|sessionID|sessionId|thread_id)":"([^"]+)"/.exec(bytes.toString('utf8'))?.[1] ?? null;
}

export interface Hearing {
  /** The exit code; null after a signal. */
  readonly code?: number | null;
  readonly stderr?: string;
  readonly startedAt?: number;
  readonly session?: SessionSpend | null;
  readonly folder?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** The result of a stream, in a form that fits into a table. */
export interface Heard {
  /** The agent's own text, with a bar between messages. */
  readonly text: string;
  readonly thoughts: string;
  /** `Bash ok`, `Bash failed`, or `Bash open` for a tool call that never ended. */
  readonly tools: readonly string[];
  /** The last to-do list. */
  readonly todos: readonly string[];
  /** Input, output, cache read, cache write; null if all are 0. */
  readonly tokens: readonly number[] | null;
  /** In millionths of a dollar; null for 0 or unknown. */
  readonly cost: number | null;
  readonly session: string | null;
  /** When the usage limit resets; `unknown` if it does not say, null if there is none. */
  readonly limit: number | 'unknown' | null;
  /** Attempt numbers. */
  readonly retries: readonly number[];
  readonly said: OutputSnapshot['said'];
  readonly error: ErrorKind | null;
  readonly as: RunClass;
  readonly unknown: number;
}

export interface Listening {
  readonly reader: RunReader;
  readonly events: readonly AgentEvent[];
  readonly snapshot: OutputSnapshot;
  readonly heard: Heard;
}

const { policy } = presets.default;

/** Reads a stream in these pieces. */
export function listen(agent: Recorded, pieces: readonly Buffer[], hearing: Hearing = {}): Listening {
  const { startedAt = 0, session = null, folder = '/nowhere', stderr = '', code = null, env = {} } = hearing;
  const events: AgentEvent[] = [];
  const reader = readRun(
    agentNamed(agent),
    policy.completion.detectors,
    {
      shown: { offset: 0 },
      startedAt,
      folder,
      workspaceFolder: folder,
      argv: [agent],
      env: () => env,
      session,
      price: () => null,
      hide: (text) => text,
      search: searchInTime,
    },
    (event) => void events.push(event),
  );
  for (const piece of pieces) reader.read(piece);
  if (stderr !== '') reader.readStderr(Buffer.from(stderr));
  reader.end();
  const snapshot = reader.snapshot(true);
  return { reader, events, snapshot, heard: heardIn(reader, events, snapshot, code) };
}

/** Reads a whole recording with the exit code and stderr of its process. */
export function listenTo(agent: Recorded, name: string, hearing: Hearing = {}): Listening {
  const ended = metaOf(agent).cases[name];
  if (ended === undefined) throw new Error(`meta.json has no case ${agent}/${name}`);
  const { exitCode: code, stderr = '' } = ended;
  return listen(agent, [recording(agent, name)], { code, stderr, ...hearing });
}

function heardIn(
  reader: RunReader,
  events: readonly AgentEvent[],
  snapshot: OutputSnapshot,
  code: number | null,
): Heard {
  const { tokens, cost, session = null, limit, said, unknown = 0 } = snapshot;
  const used = tokens === null ? [] : [tokens.input, tokens.output, tokens.cacheRead, tokens.cacheWrite];
  const ending = { how: 'exited', code, error: reader.error } as const;
  return {
    text: messagesIn(events).join(' | '),
    thoughts: events.flatMap((event) => (event.type === 'thought' ? [event.text] : [])).join(''),
    tools: toolsIn(events),
    todos: todosIn(events),
    tokens: used.some((count) => count > 0) ? used : null,
    cost: cost === null || cost.usd === 0 ? null : Math.round(cost.usd * 1e6),
    session,
    limit: limit === null ? null : (limit.resetsAt ?? 'unknown'),
    retries: events.flatMap((event) => (event.type === 'retry' ? [event.attempt] : [])),
    said,
    error: reader.error?.kind ?? null,
    as: classify(runWith(snapshot), ending, policy),
    unknown,
  };
}

function messagesIn(events: readonly AgentEvent[]): readonly string[] {
  const messages = new Map<string, string>();
  for (const event of events) {
    if (event.type === 'text') messages.set(event.message, (messages.get(event.message) ?? '') + event.text);
  }
  return [...messages.values()];
}

function toolsIn(events: readonly AgentEvent[]): readonly string[] {
  const tools = new Map<string, string>();
  for (const event of events) {
    if (event.type === 'tool.start') tools.set(event.id, `${event.name} open`);
    if (event.type !== 'tool.end') continue;
    const started = tools.get(event.id) ?? 'nothing open';
    tools.set(event.id, started.replace(/open$/, event.ok ? 'ok' : 'failed'));
  }
  return [...tools.values()];
}

function todosIn(events: readonly AgentEvent[]): readonly string[] {
  const last = events.findLast((event) => event.type === 'todo');
  return last?.type === 'todo' ? last.items.map(({ status, text }) => `${status}: ${text}`) : [];
}
