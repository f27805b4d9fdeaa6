import { escapeForPattern } from './matcher.ts';
import type { Policy } from './policy.ts';

/**
 * The commit message in an agent's answer; null if the answer has none. The subject is the first usable line of the first
 * `<response>` tag (any case, may span lines), else of the whole answer. Blank lines, code fences and JSON are not usable;
 * control characters and escape sequences are removed. The body is the rest of the tag; without a tag what a blank line
 * separates from the subject, or nothing.
 */
export function commitMessage(
  answer: string,
  untagged: Policy['commitMessage'] = 'paragraphs',
): string | null {
  const plain = answer.replaceAll(ESCAPE_SEQUENCE, '');
  const tagged = contentOfTag(plain);
  const lines = (tagged ?? plain).split(/\r\n|[\n\r\u2028\u2029]/);
  const at = lines.findIndex((line) => isMessage(clean(line)));
  const subject = clean(lines[at] ?? '');
  if (subject === '') return null;
  const rest = lines.slice(at + 1);
  const hasBody = tagged !== undefined || (untagged === 'paragraphs' && clean(rest[0] ?? '') === '');
  const body = hasBody ? bodyOf(rest) : '';
  return body === '' ? subject : `${subject}\n\n${body}`;
}

/** Searches once for the end: a pattern would search again from every beginning. */
function contentOfTag(text: string): string | undefined {
  const begin = /<response>/i.exec(text);
  if (begin === null) return undefined;
  const rest = text.slice(begin.index + begin[0].length);
  const end = rest.search(/<\/response>/i);
  return end < 0 ? undefined : rest.slice(0, end);
}

/** The lines up to a code fence, as git stores them: without trailing blanks and repeated blank lines. */
function bodyOf(lines: readonly string[]): string {
  const kept: string[] = [];
  for (const line of lines) {
    if (kept.length === MAX_BODY_LINES || FENCE.test(clean(line))) break;
    const text = cleanEnd(line);
    if (!isJson(text.trim())) kept.push(text);
  }
  return Array.from(kept.join('\n'))
    .slice(0, MAX_BODY_LENGTH)
    .join('')
    .replaceAll(/\n{3,}/g, '\n\n')
    .replaceAll(/^\n+|\s+$/g, '');
}

const MAX_BODY_LINES = 50;
const MAX_BODY_LENGTH = 4000;

/** The answer without tags that repeat the claim, which are no message. */
export function withoutClaims(answer: string, words: readonly string[]): string {
  if (words.length === 0) return answer;
  const claim = words.map(escapeForPattern).join('|');
  return answer.replaceAll(new RegExp(String.raw`<(response|promise)>\s*(?:${claim})\s*</\1>`, 'gi'), '');
}

/** A commit message without asking the agent: the first line of the task, or the loop's name, and the iteration. */
export function plainMessage(task: string | null, name: string, iteration: number): string {
  const lines = (task ?? '').replaceAll(ESCAPE_SEQUENCE, '').split(/\r\n|[\n\r\u2028\u2029]/);
  const first = Array.from(lines.map(clean).find((line) => line !== '') ?? `ralph: ${name}`);
  const subject =
    first.length > MAX_SUBJECT_LENGTH
      ? `${first.slice(0, MAX_SUBJECT_LENGTH - 1).join('')}…`
      : first.join('');
  return `${subject}\n\nIteration ${iteration} of the loop ${name}.`;
}

/** The usual limit for a commit subject. */
const MAX_SUBJECT_LENGTH = 72;

/** Terminal escape sequences: colours, cursor, titles. */
// oxlint-disable-next-line eslint/no-control-regex -- it matches control characters
const ESCAPE_SEQUENCE = /\u001B(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001B]*(?:\u0007|\u001B\\)?|[@-Z\\^_])/g;

function clean(line: string): string {
  return cleanEnd(line.trim());
}

/** Keeps the indentation, as in lists. */
function cleanEnd(line: string): string {
  const printable = line
    .replaceAll('\t', ' ')
    .replaceAll(/\p{Cc}/gu, '')
    .trimEnd();
  return Array.from(printable).slice(0, MAX_LINE_LENGTH).join('').trimEnd();
}

/** Below the limit on the length of a command-line argument. */
const MAX_LINE_LENGTH = 1000;

function isMessage(line: string): boolean {
  return line !== '' && !FENCE.test(line) && !isJson(line);
}

const FENCE = /^(?:`{3,}|~{3,})[\w-]*$/;

/** Only objects and arrays: a bare number or word is JSON too, but may be a message. */
function isJson(line: string): boolean {
  if (!/^[[{].*[\]}]$/.test(line)) return false;
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}
