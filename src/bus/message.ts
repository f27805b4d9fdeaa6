/** A message of the bus, and its header as text. `records.ts` puts messages into a file. */
import { isRecord } from '../loop/shape.ts';

export interface Message {
  /** `MSG-20260205-100000-123456789-PID04242-0001`: ids sort by time. */
  readonly id: string;
  /** In UTC: `2026-02-05T10:00:00.123Z`. */
  readonly ts: string;
  readonly type: string;
  readonly projectId: string;
  readonly taskId: string;
  readonly runId: string;
  readonly issueId?: string;
  readonly parents: readonly Parent[];
  readonly links: readonly Link[];
  readonly meta: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A message that this one answers or continues. */
export interface Parent {
  readonly id: string;
  readonly kind?: string;
  readonly meta?: Readonly<Record<string, string>>;
}

export interface Link {
  readonly url: string;
  readonly label?: string;
  readonly kind?: string;
}

/** A message before it is appended, which gives it its id and its time. */
export type Draft = Omit<Message, 'id' | 'ts'>;

/** A message of a loop without what most messages do not have. */
export function draft(given: Pick<Draft, 'type' | 'projectId' | 'body'> & Partial<Draft>): Draft {
  return { taskId: '', runId: '', parents: [], links: [], meta: {}, ...given };
}

/** The header of a record, one field per line, and every value YAML that is JSON or a plain word. */
export function headerOf(message: Omit<Message, 'body'>, bodyBytes: number): string {
  const fields: readonly (readonly [string, unknown])[] = [
    ['msg_id', message.id],
    ['ts', message.ts],
    ['type', message.type],
    ['project_id', message.projectId],
    ['task_id', message.taskId],
    ['run_id', message.runId],
    ['issue_id', message.issueId],
    ['parents', message.parents.map(({ id, ...rest }) => ({ msg_id: id, ...rest }))],
    ['links', message.links],
    ['meta', message.meta],
    ['body_bytes', bodyBytes],
  ];
  return fields
    .filter(([, value]) => !isAbsent(value))
    .map(([name, value]) => `${name}: ${written(value)}\n`)
    .join('');
}

function isAbsent(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0;
  return value === undefined;
}

function written(value: unknown): string {
  if (typeof value === 'string' && isPlain(value)) return value;
  return JSON.stringify(value).replaceAll(UNPRINTABLE, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u${code.toString(16).padStart(4, '0')}`;
  });
}

/** What YAML wants to be escaped, and what JSON leaves as it is. */
const UNPRINTABLE = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g;

function isPlain(text: string): boolean {
  return TIME.test(text) || (WORD.test(text) && !RESERVED.test(text));
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;
const WORD = /^[A-Za-z][\w-]*(?:\.[\w-]+)*$/;
/** Words that some version of YAML takes for something else. */
const RESERVED = /^(?:true|false|null|yes|no|on|off|y|n)$/i;

/** A header as it was read; null if it is none. `parse` reads those of other tools. */
export function readHeader(text: string, parse: (text: string) => unknown): Header | null {
  const value = readOwn(text) ?? parse(text);
  if (!isRecord(value)) return null;
  const [id, type] = [value['msg_id'], value['type']];
  if (!isId(id) || typeof type !== 'string' || type === '') return null;
  const bytes = value['body_bytes'];
  const issueId = value['issue_id'];
  return {
    bodyBytes: typeof bytes === 'number' && Number.isSafeInteger(bytes) && bytes >= 0 ? bytes : null,
    message: {
      id,
      ts: textIn(value['ts']),
      type,
      projectId: textIn(value['project_id']),
      taskId: textIn(value['task_id']),
      runId: textIn(value['run_id']),
      ...(typeof issueId === 'string' && issueId !== '' ? { issueId } : {}),
      parents: itemsIn(value['parents'], parentIn),
      links: itemsIn(value['links'], linkIn),
      meta: tableIn(value['meta']),
    },
  };
}

export interface Header {
  readonly message: Omit<Message, 'body'>;
  /** How long the body is in the file; null if another tool wrote the record. */
  readonly bodyBytes: number | null;
}

/** Reads what `headerOf` writes, many times faster than YAML; null if another tool wrote it. */
function readOwn(text: string): Record<string, unknown> | null {
  const entries: [string, unknown][] = [];
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const [, name, value] = /^([a-z_]+): (.+)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) return null;
    if (isPlain(value)) entries.push([name, value]);
    else if (!/^["[{\d]/.test(value)) return null;
    else
      try {
        entries.push([name, JSON.parse(value)]);
      } catch {
        return null;
      }
  }
  return Object.fromEntries(entries);
}

/** Whether a text can be the id of a message. */
export function isId(value: unknown): value is string {
  return typeof value === 'string' && /^[\w.:-]{1,200}$/.test(value);
}

function textIn(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

function itemsIn<T>(value: unknown, read: (item: unknown) => T | null): readonly T[] {
  return Array.isArray(value) ? value.flatMap((item: unknown) => read(item) ?? []) : [];
}

/** Older tools wrote the id alone. */
function parentIn(item: unknown): Parent | null {
  if (isId(item)) return { id: item };
  if (!isRecord(item) || !isId(item['msg_id'])) return null;
  const { kind, meta } = item;
  return {
    id: item['msg_id'],
    ...(typeof kind === 'string' ? { kind } : {}),
    ...(isRecord(meta) ? { meta: tableIn(meta) } : {}),
  };
}

function linkIn(item: unknown): Link | null {
  if (!isRecord(item) || typeof item['url'] !== 'string') return null;
  const { url, label, kind } = item;
  return {
    url,
    ...(typeof label === 'string' ? { label } : {}),
    ...(typeof kind === 'string' ? { kind } : {}),
  };
}

function tableIn(value: unknown): Readonly<Record<string, string>> {
  if (!isRecord(value)) return {};
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, one]): [string, string][] =>
      typeof one === 'string' || typeof one === 'number' || typeof one === 'boolean'
        ? [[key, String(one)]]
        : [],
    ),
  );
}
