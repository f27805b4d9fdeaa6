/**
 * Classifies errors of providers: one table for all agents.
 *
 * 1. Fields take precedence over text: a status, a code or a reset time decides if there is one.
 * 2. It reads only what a CLI itself reports as an error, never what the agent writes or reads from a file.
 */
import type { ErrorKind, RunError, UsageLimit } from '../loop/event.ts';
import type { AgentEvent } from './agent.ts';
import { text } from './json.ts';
import { resetTime } from './reset-time.ts';

export interface Reported {
  readonly message: string;
  /** The HTTP status. */
  readonly status?: number | null;
  /** The error codes of the provider and of the CLI. */
  readonly codes?: readonly (string | null)[];
  /** When the limit resets, in milliseconds since 1970. */
  readonly resetsAt?: number | null;
  /** The response is not in the provider's format, so something else answered: a proxy, a gateway, a captive portal. */
  readonly isForeign?: boolean;
  /** Quotas of this provider reset by themselves, whatever its message says about billing. */
  readonly quotaResets?: boolean;
}

export interface Trouble {
  readonly limit: UsageLimit | null;
  readonly error: RunError;
}

export function readTrouble(reported: Reported, startedAt: number): Trouble {
  const { quotaResets = false } = reported;
  const message = firstLine(reported.message);
  const codes = new Set([...(reported.codes ?? []), ...codesIn(reported.message)]);
  const matches = (kind: Kind): boolean =>
    PATTERNS[kind].codes.some((known) => codes.has(known)) ||
    PATTERNS[kind].sentences.some((sentence) => sentence.test(reported.message));
  const status = reported.status ?? statusIn(reported.message);
  const resetsAt = reported.resetsAt ?? resetTime(reported.message, startedAt);
  const isExceeded = matches('quota');
  // With the code of a usage limit too, the quota is that of a plan.
  const resets = quotaResets || resetsAt !== null || PATTERNS.limit.codes.some((code) => codes.has(code));
  const isUnpaid = status === 402 || matches('credit') || (isExceeded && !resets);
  if (!isUnpaid && (isExceeded || matches('limit'))) {
    return { limit: { resetsAt, message }, error: { kind: 'transient', message } };
  }
  const isPage = HTML.test(reported.message);
  const kind = isUnpaid
    ? 'out-of-credit'
    : kindOf({ status, isPage, isForeign: reported.isForeign === true || isPage }, matches);
  const isDenied = kind === 'authentication' && status === 403 && !ASKS_FOR_LOGIN.test(reported.message);
  const introduction = isDenied ? ACCESS_DENIED : (INTRODUCTIONS[kind] ?? '');
  return { limit: null, error: { kind, message: `${introduction}${message}` } };
}

/** For errors that a provider or a CLI words as if they were something else. */
const INTRODUCTIONS: Partial<Readonly<Record<ErrorKind, string>>> = {
  blocked: 'the connection to the provider is blocked: ',
  'request-refused': 'the provider refuses this request: ',
};

/** The key or the account is known, but lacks a permission: logging in again does not help. */
export const ACCESS_DENIED = 'the provider denies access: ';

const ASKS_FOR_LOGIN =
  /\blog ?in\b|\boauth\b|\btoken\b.*\b(?:expired|revoked|invalid)\b|\binvalid (?:x-)?api[- ]key\b/i;

const HTML = /<(?:!doctype html|html)\b/i;

/** The codes in a JSON response: `"type":"overloaded_error"`. */
function codesIn(message: string): readonly string[] {
  return [...message.matchAll(/"(?:code|type)":\s*"(\w+)"/g)].map(([, code = '']) => code);
}

/** An HTTP status in the text: `unexpected status 529`, `[API Error: 500 …`, `"code":401`. */
function statusIn(message: string): number | null {
  const stated = /(?:status:?\s+|API Error:?\s+\(?|"code":\s*|HTTP\s+|^\(?)([45]\d\d)\b/.exec(message)?.[1];
  return stated === undefined ? null : Number(stated);
}

type Kind =
  | 'limit'
  | 'quota'
  | 'credit'
  | 'blocked'
  | 'refused'
  | 'authentication'
  | 'configuration'
  | 'model'
  | 'transient';

interface Response {
  readonly status: number | null;
  readonly isForeign: boolean;
  readonly isPage: boolean;
}

function kindOf({ status, isForeign, isPage }: Response, matches: (kind: Kind) => boolean): ErrorKind {
  if (status === 407 || matches('blocked')) return 'blocked';
  if (status === 403) return isForeign ? 'blocked' : 'authentication';
  if (status === 401) return 'authentication';
  if (status === 408 || status === 429 || (status !== null && status >= 500)) return 'transient';
  if (status === 413 || matches('refused')) return 'request-refused';
  // With the status of a success, a web page is the login page of a network.
  if (isPage && (status === null || status < 400)) return 'transient';
  if (matches('configuration')) return 'invalid-configuration';
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
    codes: ['usage_limit_reached', 'usage_limit_exceeded'],
    sentences: [
      /\bhit your (?:[\w-]+ )?(?:[\w-]+ )?limit\b/i,
      /\busage limit (?:has been )?(?:reached|exceeded)\b/i,
      /\bexceed your account['’]s usage limit\b/i,
      /\b(?:\d+-hour|session|daily|weekly|monthly) limit reached\b/i,
      /\b(?:exhausted|exceeded) your (?:[\w-]+ )?(?:quota|capacity)\b/i,
      /(?<!disk )\bquota (?:has been )?(?:exceeded|exhausted)\b/i,
      /\b(?:individual |monthly |organization )?spend(?:ing)? limit\b/i,
      /\bout of (?:extra )?usage\b/i,
      /\breached your (?:[\w-]+ )?(?:usage )?limit\b/i,
      /\bexceeded your (?:[\w-]+ )*allowance\b/i,
      /\bresource has been exhausted\b/i,
    ],
  },
  /** Without a reset time the account has no credit, except at Google: there it is the quota of a minute or a day. */
  quota: {
    codes: ['insufficient_quota'],
    sentences: [/\bquota\b.{0,20}\bcheck your plan and billing details\b(?!.*\bai\.google\.dev\b)/i],
  },
  credit: {
    codes: ['billing_error', 'insufficient_credits', 'billing_hard_limit_reached'],
    sentences: [
      /\bcredit balance is too low\b/i,
      /\b(?:prepayment )?credits are depleted\b/i,
      /\binsufficient (?:credits|balance|funds)\b|\bout of credits\b|\brequires more credits\b/i,
      /\bpayment required\b/i,
    ],
  },
  blocked: {
    codes: ['network_edge_blocked'],
    sentences: [
      /\b(?:request was|access) blocked by\b/i,
      /\b(?:host|domain|address|url)\b.{0,80}\bnot in (?:the )?allow-?list\b/i,
      /\bproxy auth(?:entication|orization) required\b/i,
      /\bproxy refused the tunnel\b/i,
    ],
  },
  refused: {
    codes: ['context_length_exceeded', 'request_too_large', 'prompt_too_long'],
    sentences: [
      /\b(?:prompt|input|request|context)(?: is)? too (?:long|large)\b/i,
      /\bprompt as too long\b/i,
      /\bcontext (?:window|length) (?:limit reached|exceeded)\b|\bmaximum context length\b/i,
      /\b(?:exceeds|ran out of room in) (?:the|the model's|this model's) (?:maximum )?context (?:window|length)\b/i,
      /\binput token count\b.{0,40}\bexceeds\b/i,
      /\b(?:request|payload|content) entity too large\b|\bpayload too large\b/i,
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
      /\bno (?:api key|authentication information) (?:was )?found\b/i,
      /\bno auth type is selected\b/i,
      /\bwhen using [\w ]{1,20}, you must specify\b/i,
      /\bmissing environment variable\b|\bmust specify the \w+ environment variable\b/i,
    ],
  },
  configuration: {
    codes: [],
    sentences: [/\binvalid auth method\b/i],
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
      // Claude Code and the Copilot CLI.
      'connection_failed',
      'stream_idle_timeout',
      'computer_slept',
      'transport',
    ],
    sentences: [
      /\boverloaded\b|\bserver had an error\b/i,
      /\brate limit(?:ed)?\b|\btoo many requests\b/i,
      /\bhigh (?:demand|load)\b|\b(?:temporarily|currently) (?:not available|unavailable)\b/i,
      /\binternal server error\b|\bbad gateway\b|\bservice unavailable\b|\bgateway time-?out\b/i,
      /\bstream (?:disconnected|error|closed|ended without)\b|\bconnection (?:error|failed|reset|refused|closed|lost|dropped)\b/i,
      /\b(?:ECONNRESET|ECONNREFUSED|ETIMEDOUT|EAI_AGAIN|ENOTFOUND|EPIPE|UND_ERR_\w+)\b|\bsocket hang up\b|\bfetch failed\b/,
      /\b(?:unable to|cannot|could not|can['’]t) (?:connect|reach)\b/i,
      /\bnetwork (?:error|timeout)\b|\btimed? ?out\b|\bwaiting for network\b/i,
      // A response that is cut off, or that is not a response of the provider at all.
      /^(?:API Error: )?terminated\b|\bmid-response\b|\berror decoding response body\b/i,
      /\bempty or malformed response\b|\bnon-SSE response\b|\bincomplete JSON segment\b|\bwithout sending any chunks\b/i,
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

/** The first line, or the message in it if it is a server's JSON response; of a web page only its title. */
function firstLine(message: string): string {
  const words = innerMessage(message.trim()).replace(/<(?:!doctype html|html)\b[\s\S]*$/i, (page) => {
    const title = /<title>([^<]*)<\/title>/i.exec(page)?.[1]?.trim() ?? '';
    return title === '' ? 'a web page' : `a web page (${title})`;
  });
  return words.trim().split('\n', 1)[0]?.slice(0, MAX_MESSAGE_LENGTH) ?? '';
}

/** The message in the JSON of the first line; a server may have put the JSON of another one into it. */
function innerMessage(message: string): string {
  const quoted = /^[^\n]*?"message":\s*("(?:[^"\\]|\\.)*")/.exec(message)?.[1];
  if (quoted === undefined) return message;
  try {
    return innerMessage(text(JSON.parse(quoted)).trim());
  } catch {
    return quoted.slice(1, -1);
  }
}
