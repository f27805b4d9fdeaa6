/**
 * Classifies errors of providers: one table for all agents.
 *
 * 1. Fields take precedence over text: a status, a code or a reset time decides if there is one.
 * 2. It reads only what a CLI itself reports as an error, never what the agent writes or reads from a file.
 */
import type { ErrorKind, RunError, UsageLimit } from '../loop/event.ts';
import type { AgentEvent } from './agent.ts';
import { resetTime } from './reset-time.ts';

export interface Reported {
  readonly message: string;
  /** The HTTP status. */
  readonly status?: number | null;
  /** The provider's error code. */
  readonly code?: string | null;
  /** When the limit resets, in milliseconds since 1970. */
  readonly resetsAt?: number | null;
}

export interface Trouble {
  readonly limit: UsageLimit | null;
  readonly error: RunError;
}

export function readTrouble(reported: Reported, startedAt: number): Trouble {
  const { status = null, code = null } = reported;
  const message = firstLine(reported.message);
  const matches = (kind: Kind): boolean =>
    PATTERNS[kind].codes.some((known) => known === code) ||
    PATTERNS[kind].sentences.some((sentence) => sentence.test(reported.message));
  if (matches('limit')) {
    const resetsAt = reported.resetsAt ?? resetTime(reported.message, startedAt);
    return { limit: { resetsAt, message }, error: { kind: 'transient', message } };
  }
  return { limit: null, error: { kind: kindOf(status ?? statusIn(reported.message), matches), message } };
}

/** An HTTP status in the text: `unexpected status 529`, `[API Error: 500 …`, `"code":401`. */
function statusIn(message: string): number | null {
  const stated = /(?:status:?\s+|API Error:?\s+\(?|"code":\s*|HTTP\s+|^\(?)([45]\d\d)\b/.exec(message)?.[1];
  return stated === undefined ? null : Number(stated);
}

type Kind = 'limit' | 'authentication' | 'model' | 'transient';

function kindOf(status: number | null, matches: (kind: Kind) => boolean): ErrorKind {
  if (status === 401 || status === 403) return 'authentication';
  if (status === 408 || status === 429 || (status !== null && status >= 500)) return 'transient';
  if (matches('authentication')) return 'authentication';
  // An overloaded model is unavailable only for a while.
  if (matches('model')) return matches('transient') ? 'transient' : 'unknown-model';
  return matches('transient') ? 'transient' : 'other';
}

/** The sentences come from real CLIs; each has a test. */
const PATTERNS: Readonly<
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

/** The events of a run that failed with this error: the usage limit, if there is one, then the result. */
export function failedResult(
  { limit, error: reported }: Trouble,
  { usage, session }: Pick<Result, 'usage' | 'session'>,
): readonly AgentEvent[] {
  const error = reported.message === '' ? { ...reported, message: NO_MESSAGE } : reported;
  const result: Result = { type: 'result', ok: false, text: null, usage, session, error };
  return limit === null ? [result] : [{ type: 'limit', ...limit }, result];
}

const NO_MESSAGE = 'the agent reported an error without a message; see stdout.log of this run';

type Result = Extract<AgentEvent, { type: 'result' }>;

/**
 * The usage limit in the last line of any program's output. Only a line that addresses the user counts, because the output
 * of a test may mention quotas too.
 */
export function limitInLastLine(message: string, startedAt: number): UsageLimit | null {
  const line = message.trimEnd().split('\n').at(-1)?.trim() ?? '';
  if (line.length > MAX_LINE_LENGTH || !ADDRESSES_USER.test(line)) return null;
  return readTrouble({ message: line }, startedAt).limit;
}

const ADDRESSES_USER =
  /^\W*(?:error\W+)?(?:you(?:['’]ve|['’]re|r)?\b|claude ai\b|the usage limit\b|(?:[\w-]+ )?limit reached\b)/i;

/** A longer line only mentions a limit. */
const MAX_LINE_LENGTH = 400;

/** The length that document 002 allows in the next prompt. */
const MAX_MESSAGE_LENGTH = 1000;

/** The first line, or the message in it if it is a server's JSON response. */
function firstLine(message: string): string {
  const line = message.trim().split('\n', 1)[0] ?? '';
  const inner = /"message":\s*"((?:[^"\\]|\\.)*)"/.exec(line)?.[1];
  return (inner ?? line).slice(0, MAX_MESSAGE_LENGTH);
}
