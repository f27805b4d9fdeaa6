/**
 * The format of a message bus: a text file that people, agents and other tools read and append to.
 *
 *     ---
 *     msg_id: MSG-20260205-100000-123456789-PID04242-0001
 *     type: INFO
 *     …
 *     body_bytes: 8
 *     ---
 *     the body
 *
 * 1. An empty line is between two records, and none is in a header. So a `---` after an empty line opens a record, even if the
 *    record before it was torn in its header.
 * 2. A line of the body that could be taken for `---` gets a backslash in front: no body ends its record.
 * 3. `body_bytes` is the length of the body as it is in the file. A body that is shorter was torn, and its record does not count.
 * 4. Records of other tools have no `body_bytes`: their body ends before the next `---`, and nothing in it is unescaped. A last
 *    record without a newline at its end was torn.
 * 5. What is between records is ignored, except lines of the earlier format: `[2026-02-05 10:00:00] INFO: text`.
 * 6. Reading takes a bounded time, whatever the file contains: of the records of other tools only the last ones are read.
 */
import { MAX_HEADER_BYTES } from './bus-file.ts';
import { headerOf, readHeader, type Header, type Message } from './message.ts';
import { parseYamlHeader } from './yaml.ts';

/** A message as it is appended. */
export function recordOf(message: Message): Buffer {
  const body = Buffer.from(escaped(message.body));
  return Buffer.concat([Buffer.from(`---\n${headerOf(message, body.length)}---\n`), body, Buffer.from('\n')]);
}

/** What has to be written between the end of a file and a new record, so that a torn record does not swallow the new one. */
export function separatorAfter(end: Buffer): string {
  if (end.length === 0) return '';
  return end.at(-1) === NEWLINE ? '\n' : '\n\n';
}

const NEWLINE = 0x0a;

/** The messages in a part of a bus that begins at byte `from`; it may begin in the middle of a record. */
export function readRecords(content: Buffer, from: number = 0): readonly Message[] {
  // One character per byte: places in the text are places in the file.
  const text = content.toString('latin1');
  const lines = delimitersIn(text);
  const headers = headersIn(text, lines);
  const messages: Message[] = [];
  let outside = 0;
  let at = 0;
  while (at < lines.length) {
    const [open, close] = [lines[at], lines[at + 1]];
    if (open === undefined || close === undefined) break;
    const header = headers[at] ?? null;
    if (header === null) {
      at++;
      continue;
    }
    // What comes before the first record of a part belongs to one that begins earlier.
    if (from === 0 || outside > 0)
      for (const line of legacyLines(text, outside, open.start, from)) messages.push(line);
    const next = lines[at + 2];
    const follower = headers[at + 2] ?? null;
    const body = bodyIn(text.slice(close.end, next?.start), header, () => {
      if (next === undefined) return 'nothing';
      return follower !== null && follower.bodyBytes === null ? 'foreign' : 'ours';
    });
    if (body !== null) messages.push({ ...header.message, body: body.text });
    outside = close.end + (body?.length ?? text.length);
    at += 2;
  }
  for (const line of legacyLines(text, outside, text.length, from)) messages.push(line);
  return messages;
}

interface Delimiter {
  readonly start: number;
  /** After its newline. */
  readonly end: number;
}

function delimitersIn(text: string): readonly Delimiter[] {
  const found: Delimiter[] = [];
  for (const { 0: line, 1: before = '', index } of text.matchAll(/(^|\n)---[ \t\r]*(?=\n|$)/g))
    found.push({ start: index + before.length, end: Math.min(index + line.length + 1, text.length) });
  return found;
}

/** The header after each `---`, from the last one to the first, because the last ones are needed most. */
function headersIn(text: string, lines: readonly Delimiter[]): readonly (Header | null)[] {
  const parse = boundedParser();
  let end = lines.at(-1)?.start ?? 0;
  const headers = lines
    .slice(0, -1)
    .toReversed()
    .map((line) => {
      const header = headerIn(text, line.end, end, parse);
      end = line.start;
      return header;
    });
  return headers.toReversed();
}

/** Null if what is between two `---` is no header: it was torn, or it is the body of a record that cannot be read. */
function headerIn(text: string, start: number, end: number, parse: (yaml: string) => unknown): Header | null {
  const isTorn = text.endsWith('\n\n', end) || end - start > MAX_HEADER_BYTES;
  if (isTorn) return null;
  const header = text.slice(start, end);
  return header.includes('msg_id') ? readHeader(decoded(header), parse) : null;
}

/** Parses YAML until it was enough: it takes a hundred times as long as our own headers. */
function boundedParser(): (yaml: string) => unknown {
  let [headers, bytes] = [MAX_FOREIGN_HEADERS, MAX_FOREIGN_BYTES];
  return (yaml) => {
    headers--;
    bytes -= yaml.length;
    return headers < 0 || bytes < 0 ? null : parseYamlHeader(yaml);
  };
}

const MAX_FOREIGN_HEADERS = 1000;
const MAX_FOREIGN_BYTES = 512 * 1024;

/** The body in what follows a header, and how long it is there with the newline after it; null if it was torn. */
function bodyIn(
  text: string,
  { bodyBytes }: Header,
  follower: () => 'nothing' | 'ours' | 'foreign',
): { readonly text: string; readonly length: number } | null {
  if (bodyBytes !== null) {
    // After a torn body, a record of ours comes too early for two newlines at this place; others may leave out the empty line.
    const isWhole =
      text.startsWith('\n\n', bodyBytes) || (text.startsWith('\n', bodyBytes) && follower() !== 'ours');
    if (!isWhole) return null;
    return { text: unescaped(decoded(text.slice(0, bodyBytes))), length: bodyBytes + 1 };
  }
  if (!text.endsWith('\n')) return null;
  const isLast = follower() === 'nothing';
  const whole = text.slice(0, -1);
  return {
    text: decoded(!isLast && whole.endsWith('\n') ? whole.slice(0, -1) : whole),
    length: text.length,
  };
}

/** Lines of the earlier format; those without a newline at their end are not complete. */
function legacyLines(text: string, start: number, end: number, from: number): readonly Message[] {
  if (start >= end) return [];
  return [...text.slice(start, end).matchAll(LEGACY_LINE)].map(
    ({ index, 1: time = '', 2: type = '', 3: body = '' }) => ({
      id: `${LEGACY_ID}${String(from + start + index).padStart(9, '0')}`,
      ts: `${time.replace(' ', 'T')}Z`,
      type,
      projectId: '',
      taskId: '',
      runId: '',
      parents: [],
      links: [],
      meta: {},
      body: decoded(body),
    }),
  );
}

const LEGACY_LINE = /(?<![^\n])\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\] (\w+): ([^\n]*)\n/g;
/** Then the place of the line in the file. */
const LEGACY_ID = 'LEGACY-LINE-';

function decoded(latin1: string): string {
  return Buffer.from(latin1, 'latin1').toString('utf8');
}

function escaped(body: string): string {
  return body.replaceAll(/(?<![^\n])(?=\\*---[ \t\r]*(?:\n|$))/g, '\\');
}

function unescaped(body: string): string {
  return body.replaceAll(/(?<![^\n])\\(?=\\*---[ \t\r]*(?:\n|$))/g, '');
}
