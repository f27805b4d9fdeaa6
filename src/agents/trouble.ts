/**
 * What an error of a provider means: one table for all agents.
 *
 * 1. Fields come before words: a status, a code and a stated reset decide where they are there.
 * 2. Only what a CLI itself reports as an error is read here, never what the agent says or reads from a file.
 */
import type { ErrorKind, RunError, UsageLimit } from '../loop/event.ts';
import type { AgentEvent } from './agent.ts';
import { resetTime } from './reset-time.ts';

export interface Reported {
  readonly message: string;
  /** The HTTP status. */
  readonly status?: number | null;
  /** The provider's own word for it. */
  readonly code?: string | null;
  /** When it ends, in milliseconds since 1970. */
  readonly resetsAt?: number | null;
}

export interface Trouble {
  readonly limit: UsageLimit | null;
  readonly error: RunError;
}

export function readTrouble(reported: Reported, startedAt: number): Trouble {
  const { status = null, code = null } = reported;
  const message = firstWords(reported.message);
  const means = (kind: Kind): boolean =>
    WORDS[kind].codes.some((known) => known === code) ||
    WORDS[kind].sentences.some((words) => words.test(reported.message));
  if (means('limit')) {
    const resetsAt = reported.resetsAt ?? resetTime(reported.message, startedAt);
    return { limit: { resetsAt, message }, error: { kind: 'transient', message } };
  }
  return { limit: null, error: { kind: kindOf(status ?? statusIn(reported.message), means), message } };
}

/** A status that stands in the words: `unexpected status 529`, `[API Error: 500 …`, `"code":401`. */
function statusIn(message: string): number | null {
  const stated = /(?:status:?\s+|API Error:?\s+\(?|"code":\s*|HTTP\s+|^\(?)([45]\d\d)\b/.exec(message)?.[1];
  return stated === undefined ? null : Number(stated);
}

type Kind = 'limit' | 'authentication' | 'model' | 'transient';

function kindOf(status: number | null, means: (kind: Kind) => boolean): ErrorKind {
  if (status === 401 || status === 403) return 'authentication';
  if (status === 408 || status === 429 || (status !== null && status >= 500)) return 'transient';
  if (means('authentication')) return 'authentication';
  // One that is overloaded is not available for a while.
  if (means('model')) return means('transient') ? 'transient' : 'unknown-model';
  return means('transient') ? 'transient' : 'other';
}

/** The sentences are of real CLIs; each has its test. */
const WORDS: Readonly<
  Record<Kind, { readonly codes: readonly string[]; readonly sentences: readonly RegExp[] }>
> = {
  limit: {
    codes: ['usage_limit_reached', 'insufficient_quota', 'usage_limit_exceeded'],
    sentences: [
      /\bhit your (?:[\w-]+ )?(?:[\w-]+ )?limit\b/i,
      /\busage limit (?:has been )?(?:reached|exceeded)\b/i,
      /\bexceed your account['’]s usage limit\b/i,
      /\b(?:\d+-hour|session|daily|weekly|monthly) limit reached\b/i,
      /\b(?:exhausted|exceeded) your (?:[\w-]+ )?(?:quota|capacity)\b/i,
      /(?<!disk )\bquota (?:has been )?(?:exceeded|exhausted)\b/i,
      /\b(?:individual |monthly |organization )?spend(?:ing)? limit\b/i,
      /\bout of (?:extra )?(?:usage|credits)\b|\binsufficient credits\b/i,
      /\breached your (?:[\w-]+ )?(?:usage )?limit\b/i,
      /\bexceeded your (?:[\w-]+ )*allowance\b/i,
      /\bresource has been exhausted\b/i,
    ],
  },
  authentication: {
    codes: [
      'authentication_failed',
      'authentication_error',
      'invalid_api_key',
      'authentication',
      'permission_error',
    ],
    sentences: [
      /\bfailed to authenticate\b/i,
      /\binvalid (?:x-)?api[- ]key\b/i,
      /\bunauthorized\b/i,
      /\bnot logged in\b|\bplease (?:run )?(?:\/login|log ?in)\b/i,
      /\bauth(?:entication)? method\b.*\b(?:set|choose|specif)/i,
      /\bcredit balance is too low\b/i,
      /\bno (?:api key|authentication information) (?:was )?found\b/i,
      /\bno auth type is selected\b/i,
      /\bmissing environment variable\b|\bmust specify the \w+ environment variable\b/i,
    ],
  },
  model: {
    codes: ['model_not_found', 'not_found_error'],
    sentences: [
      /\bno such model\b/i,
      /\bissue with the selected model\b/i,
      /\bmodel\b.{0,80}\b(?:not found|does not exist|is not supported|not available)\b/i,
      /\bunknown model\b/i,
    ],
  },
  transient: {
    codes: [
      'rate_limit',
      'rate_limit_error',
      'rate_limit_exceeded',
      'overloaded',
      'overloaded_error',
      'server_error',
      'api_error',
    ],
    sentences: [
      /\boverloaded\b/i,
      /\brate limit\b|\btoo many requests\b/i,
      /\bhigh (?:demand|load)\b|\b(?:temporarily|currently) (?:not available|unavailable)\b/i,
      /\binternal server error\b|\bbad gateway\b|\bservice unavailable\b|\bgateway time-?out\b/i,
      /\bstream (?:disconnected|error|closed)\b|\bconnection (?:error|reset|refused|closed|lost)\b/i,
      /\b(?:ECONNRESET|ECONNREFUSED|ETIMEDOUT|EAI_AGAIN|ENOTFOUND|EPIPE)\b|\bsocket hang up\b|\bfetch failed\b/,
      /\bnetwork (?:error|timeout)\b|\btimed? ?out\b/i,
    ],
  },
};

/** How a run ends that came to this: its limit, where it met one, before its result. */
export function failedResult(
  { limit, error }: Trouble,
  { usage, session }: Pick<Result, 'usage' | 'session'>,
): readonly AgentEvent[] {
  const result: Result = { type: 'result', ok: false, text: null, usage, session, error };
  return limit === null ? [result] : [{ type: 'limit', ...limit }, result];
}

type Result = Extract<AgentEvent, { type: 'result' }>;

/**
 * The limit in the last words of a program whose words are not ours to judge by: only where it speaks to its user, since
 * any test may say something of quotas.
 */
export function lastWords(message: string, startedAt: number): UsageLimit | null {
  const line = message.trimEnd().split('\n').at(-1)?.trim() ?? '';
  if (line.length > LONGEST_SENTENCE || !TO_THE_USER.test(line)) return null;
  return readTrouble({ message: line }, startedAt).limit;
}

const TO_THE_USER =
  /^\W*(?:error\W+)?(?:you(?:['’]ve|['’]re|r)?\b|claude ai\b|the usage limit\b|(?:[\w-]+ )?limit reached\b)/i;

/** Longer ones are not about a limit, they only mention one. */
const LONGEST_SENTENCE = 400;

/** As much as document 002 tells the next agent of it. */
const LONGEST_MESSAGE = 1000;

/** One line, not the whole answer of a server. */
function firstWords(message: string): string {
  const line = message.trim().split('\n', 1)[0] ?? '';
  const inner = /"message":\s*"((?:[^"\\]|\\.)*)"/.exec(line)?.[1];
  return (inner ?? line).slice(0, LONGEST_MESSAGE);
}
