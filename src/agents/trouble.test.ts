import { describe, expect, it } from 'vitest';
import type { ErrorKind } from '../loop/event.ts';
import { failedResult, readTrouble, type Reported } from './trouble.ts';

const START = Date.UTC(2026, 10, 15, 7);
const anthropic = (status: number, type: string, message: string): string =>
  `${status} ${JSON.stringify({ type: 'error', error: { type, message }, request_id: 'req_0064' })}`;
const google = (code: number, message: string, status: string): string =>
  JSON.stringify({ error: { code, message, status, details: [] } });
const serverSide =
  'This is a server-side issue, usually temporary — try again in a moment. If it persists, check your inference gateway (model-server.local:8080).';

/** Literal messages of CLIs, and their kind when there are no other fields. */
const SENTENCES: readonly (readonly [string, ErrorKind])[] = [
  // amp
  [anthropic(429, 'rate_limit_error', 'Rate limit reached. Try again later.'), 'transient'],
  [anthropic(500, 'api_error', 'Internal server error.'), 'transient'],
  ['Model provider overloaded. Try again in a few seconds.', 'transient'],
  ['Unauthorized. Check your access token.', 'authentication'],
  ['User cancelled (SIGINT/SIGTERM)', 'other'],
  [
    'Context window limit reached. Start a new thread or use /handoff to continue with relevant context in a fresh thread. If utilizing context >200k tokens, you may be seeing this error because we have failed over to a provider without support for extended context.',
    'request-refused',
  ],
  [anthropic(404, 'not_found_error', 'No such model.'), 'unknown-model'],
  ['Request timed out.', 'transient'],
  // claude
  ['API Error: Request rejected (429) · Rate limit reached. Try again later.', 'transient'],
  [`API Error: 500 Internal server error. ${serverSide}`, 'transient'],
  [`API Error: 529 Overloaded. ${serverSide}`, 'transient'],
  ['Failed to authenticate. API Error: 401 Invalid API key.', 'authentication'],
  [
    'Prompt is too long · the request is ~250000 tokens (limit 200000) but this conversation is only ~2763 tokens — the rest is system prompt, tool definitions, and attachment content.',
    'request-refused',
  ],
  [
    "There's an issue with the selected model (claude-opus-5-5). It may not exist or you may not have access to it. Run --model to pick a different model.",
    'unknown-model',
  ],
  ['Reached maximum number of turns (1)', 'other'],
  ['Reached maximum budget ($0.001)', 'other'],
  // codex
  ['exceeded retry limit, last status: 429 Too Many Requests', 'transient'],
  ['We’re currently experiencing high demand, which may cause temporary errors.', 'transient'],
  [
    'unexpected status 529 <unknown status code>: Overloaded, url: http://model-server.local:8080',
    'transient',
  ],
  ['stream disconnected before completion: Overloaded', 'transient'],
  [
    'unexpected status 401 Unauthorized: Invalid API key., url: http://model-server.local:8080',
    'authentication',
  ],
  [
    '{"error":{"message":"prompt is too long: 250000 tokens > 200000 maximum","type":"invalid_request_error","param":null,"code":"context_length_exceeded"}}',
    'request-refused',
  ],
  ['No such model.', 'unknown-model'],
  // copilot
  [
    'Failed to get response from the AI model; retried 5 times (total retry wait time: 5.47 seconds) Last error: 429 Rate limit reached. Try again later.',
    'transient',
  ],
  [
    'Failed to get response from the AI model; retried 5 times (total retry wait time: 15.72 seconds) Last error: 500 Internal server error.',
    'transient',
  ],
  [
    'Failed to get response from the AI model; retried 5 times (total retry wait time: 14.24 seconds) Last error: 529 Overloaded',
    'transient',
  ],
  [
    'Authentication failed with provider at http://model-server.local:8080/v1 (HTTP 401).\n  Check your COPILOT_PROVIDER_API_KEY, COPILOT_PROVIDER_API_KEY_COMMAND, or COPILOT_PROVIDER_BEARER_TOKEN.',
    'authentication',
  ],
  [
    'The provider rejected the prompt as too long, but automatic recovery could not reduce it. Reduce context before retrying.',
    'request-refused',
  ],
  [
    "Model 'scripted-model' not found on provider at http://model-server.local:8080/v1 (HTTP 404).\n  Check that the model is available on your provider.",
    'unknown-model',
  ],
  // gemini
  [
    'Rate limit reached. Try again later.\nSuggested retry after 1s.\nPlease wait and try again later. To increase your limits, request a quota increase through AI Studio, or switch to another /auth method',
    'transient',
  ],
  [google(500, 'Internal server error.', 'INTERNAL'), 'transient'],
  [google(529, 'Overloaded', 'UNKNOWN'), 'transient'],
  [google(401, 'Invalid API key.', 'UNAUTHENTICATED'), 'authentication'],
  [google(400, 'prompt is too long: 250000 tokens > 200000 maximum', 'INVALID_ARGUMENT'), 'request-refused'],
  ['exception TypeError: fetch failed sending request', 'transient'],
  // qwen
  ['API Error: 429 Rate limit reached. Try again later.', 'transient'],
  ['API Error: 500 Internal server error.', 'transient'],
  ['API Error: 529 Overloaded', 'transient'],
  ['API Error: Overloaded', 'transient'],
  ['API Error: 401 Invalid API key.', 'authentication'],
  ['API Error: 400 prompt is too long: 250000 tokens > 200000 maximum', 'request-refused'],
  ['API Error: 404 No such model.', 'unknown-model'],
  // About a tool of the agent, and not about the connection.
  ['the command was blocked by a hook', 'other'],
  ['rm is not in the allowlist of this agent', 'other'],
];

/** Messages about missing credit, and the same words about a quota that resets. */
const CREDIT: readonly string[] = [
  'Credit balance is too low',
  anthropic(
    400,
    'invalid_request_error',
    'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.',
  ),
  'Quota exceeded. Check your plan and billing details.',
  'API Error: 429 You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.',
  'Your prepayment credits are depleted. Please go to AI Studio at https://ai.studio/projects to manage your project and billing.',
  'unexpected status 402 Payment Required: Insufficient credits. Add more using https://openrouter.ai/settings/credits',
  '402 Insufficient Balance',
  'This request requires more credits, or fewer max_tokens.',
];

const BLOCKED: readonly string[] = [
  'unexpected status 403 Forbidden: <!DOCTYPE html>\n<html><head><title>Attention Required! | Cloudflare</title></head></html>',
  'unexpected status 403 Forbidden: Host not in allowlist, url: http://model-server.local:8080',
  'Forbidden: request was blocked by a gateway or proxy.',
  "API Error: Couldn't connect through your proxy (ERR_PROXY_TUNNEL) — the proxy refused the tunnel: check its credentials",
  'Proxy Authentication Required',
  'client error (Connect): tunnel error: proxy authorization required',
  'HTTP 407',
];

const REFUSED: readonly string[] = [
  "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
  'Your input exceeds the context window of this model. Please adjust your input and try again.',
  'The input token count (1250000) exceeds the maximum number of tokens allowed (1048576).',
  'input is too long for requested model',
  'Request too large (max 32MB).',
  'unexpected status 413 Payload Too Large: <html>\r\n<head><title>413 Request Entity Too Large</title></head>',
];

/** Connections and streams that end early, and answers that are not from the provider. */
const OUTAGES: readonly string[] = [
  'API Error: Server error mid-response. The response above may be incomplete.',
  'API Error: API returned an empty or malformed response (HTTP 200) — check for a proxy or gateway intercepting the request.',
  "API Error: Can't reach the API server — check your internet or DNS (ENOTFOUND)",
  'API Error: Connection refused — a firewall or proxy may be blocking it (ECONNREFUSED)',
  'Model stream ended without a finish reason.',
  'terminated',
  'Incomplete JSON segment at the end',
  'API Error: Streaming request received a non-SSE response (HTTP 200, Content-Type: text/html). Body prefix: <!DOCTYPE html>',
  'Cannot connect to API: Unable to connect. Is the computer able to access the url?',
  'Could not connect to local model provider at http://model-server.local:8080/v1.',
  '{"message":"The server had an error","type":"server_error","param":null,"code":null}',
];

/** A stated minute may mean any second of it. */
const LAST = 59_000;

const LIMITS: readonly (readonly [string, number | null])[] = [
  // amp, claude with a key
  [anthropic(429, 'rate_limit_error', "This request would exceed your account's usage limit."), null],
  ["API Error: Request rejected (429) · This request would exceed your account's usage limit.", null],
  // claude with a subscription, now and before
  ["You've hit your 5-hour limit · resets 8:11am (UTC)", Date.UTC(2026, 10, 15, 8, 11) + LAST],
  ['You’ve hit your limit · resets 5pm (Europe/Vilnius)', Date.UTC(2026, 10, 15, 15) + LAST],
  ["You've hit your weekly limit · resets Nov 20 at 5pm (Europe/Vilnius)", Date.UTC(2026, 10, 20, 15) + LAST],
  ["You've hit your session limit · resets 8:30pm (Asia/Tokyo)", Date.UTC(2026, 10, 15, 11, 30) + LAST],
  ["You've hit your weekly limit · resets Nov 20, 2am (UTC)", Date.UTC(2026, 10, 20, 2) + LAST],
  [
    'Weekly limit reached · resets 10am (Asia/Seoul) · /upgrade to Max or turn on /extra-usage',
    Date.UTC(2026, 10, 16, 1) + LAST,
  ],
  ['Claude AI usage limit reached|1794730286', 1_794_730_286_000],
  // codex
  [
    'You’ve hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), visit https://chatgpt.com/settings/usage to purchase more credits or try again at Nov 16th, 2026 8:04 AM.',
    new Date(2026, 10, 16, 8, 4).getTime() + LAST,
  ],
  [
    "You've hit your usage limit. Upgrade to Pro (https://openai.com/chatgpt/pricing) or try again in 5 days 22 hours 11\nminutes.",
    START + ((5 * 24 + 22) * 60 + 11) * 60_000,
  ],
  [
    "You've hit your usage limit. Upgrade to Pro (https://openai.com/chatgpt/pricing), or wait for limits to reset (every 5h and every week.).",
    null,
  ],
  ['You have reached your individual spend limit.', null],
  // copilot, opencode, qwen: the time that the CLI waited is not a reset time
  [
    'Failed to get response from the AI model; retried 5 times (total retry wait time: 51.74 seconds) Last error: 429 The usage limit has been reached',
    null,
  ],
  ['The usage limit has been reached', null],
  ['Retrying in 60s (attempt 1/10): [API Error: 429 The usage limit has been reached]', null],
  // gemini
  [
    'You have exhausted your capacity on this model. Your quota will reset after 8h44m7s.',
    START + ((8 * 60 + 44) * 60 + 7) * 1000,
  ],
  [
    'You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.',
    null,
  ],
  [
    'You have exhausted your daily quota on this model.\nPlease wait and try again later. To increase your limits, request a quota increase through AI Studio, or switch to another /auth method',
    null,
  ],
];

describe('the kind of an error', () => {
  it.each([
    [503, 'The model gpt-5 is currently not available due to high load', 'transient'],
    [502, 'upstream said unauthorized', 'transient'],
    [403, 'the model does not exist', 'authentication'],
    [null, 'The model is temporarily not available, please retry', 'transient'],
    [null, 'The model gpt-9 is not available', 'unknown-model'],
    [null, 'cp: Disk quota exceeded', 'other'],
  ] as const)('%s %s: %s, because a status takes precedence over text', (status, message, kind) => {
    expect(readTrouble({ message, status }, START)).toMatchObject({ limit: null, error: { kind } });
  });

  it.each(SENTENCES)('%s: %s', (message, kind) => {
    const { limit, error } = readTrouble({ message }, START);
    expect({ limit, kind: error.kind }).toEqual({ limit: null, kind });
  });

  it.each([
    ...CREDIT.map((message) => [message, 'out-of-credit'] as const),
    ...BLOCKED.map((message) => [message, 'blocked'] as const),
    ...REFUSED.map((message) => [message, 'request-refused'] as const),
    ...OUTAGES.map((message) => [message, 'transient'] as const),
  ])('%s: %s, not a usage limit and not a login', (message, kind) => {
    const { limit, error } = readTrouble({ message }, START);
    expect({ limit, kind: error.kind }).toEqual({ limit: null, kind });
  });

  it('is a usage limit for a quota of a provider whose quotas reset, or with a reset time', () => {
    const message = 'You exceeded your current quota, please check your plan and billing details.';
    const limitOf = (more: Partial<Reported>) => readTrouble({ message, ...more }, START).limit?.resetsAt;
    expect(limitOf({})).toBeUndefined();
    expect(limitOf({ quotaResets: true })).toBeNull();
    expect(limitOf({ codes: ['insufficient_quota'], resetsAt: 5 })).toBe(5);
    // A plan has both codes.
    expect(limitOf({ codes: ['insufficient_quota', 'usage_limit_reached'] })).toBeNull();
  });

  it('is blocked for a 403 without an error of the provider, else authentication', () => {
    const kind = (more: Partial<Reported>) =>
      readTrouble({ message: 'API Error: 403 Access Denied', ...more }, START).error.kind;
    expect([kind({ isForeign: true }), kind({ status: 403, isForeign: true }), kind({})]).toEqual([
      'blocked',
      'blocked',
      'authentication',
    ]);
  });

  it('shows the title of a web page and the innermost of nested messages', () => {
    const messageOf = (message: string) => readTrouble({ message }, START).error.message;
    expect(messageOf(BLOCKED[0] ?? '')).toBe(
      'the connection to the provider is blocked: unexpected status 403 Forbidden: a web page (Attention Required! | Cloudflare)',
    );
    const nested = JSON.stringify({ error: { message: google(500, 'It broke.', 'INTERNAL'), code: 500 } });
    expect(messageOf(nested)).toBe('It broke.');
  });

  it.each(LIMITS)('%s: is a usage limit', (message, resetsAt) => {
    const { limit, error } = readTrouble({ message }, START);
    expect(limit?.resetsAt).toBe(resetsAt);
    // For a policy that does not wait for limits it is an ordinary outage.
    expect(error.kind).toBe('transient');
  });

  it('follows from a status or a code if the text is ambiguous', () => {
    const kind = (status: number | null, code: string | null = null) =>
      readTrouble({ message: 'Sorry.', status, codes: [code] }, START).error.kind;
    expect([401, 403, 408, 429, 500, 502, 503, 529, 400, 404, null].map((status) => kind(status))).toEqual([
      'authentication',
      'authentication',
      ...Array.from({ length: 6 }, () => 'transient'),
      'other',
      'other',
      'other',
    ]);
    expect(kind(401, 'invalid_api_key')).toBe('authentication');
    expect(kind(404, 'model_not_found')).toBe('unknown-model');
    expect(kind(null, 'overloaded_error')).toBe('transient');
  });

  it.each(['usage_limit_reached', 'insufficient_quota'])('is a usage limit with the code %s', (code) => {
    const stated = { message: 'No. Try again in 5 minutes.', status: 429, codes: [code] };
    expect(readTrouble(stated, START).limit?.resetsAt).toBe(START + 300_000);
    // The field takes precedence over the sentence.
    expect(readTrouble({ ...stated, resetsAt: START + 9 }, START).limit?.resetsAt).toBe(START + 9);
  });

  it('comes with a message of one line, without the JSON around it', () => {
    const messageOf = (message: string) => readTrouble({ message }, START).error.message;
    expect(messageOf(anthropic(500, 'api_error', 'Internal server error.'))).toBe('Internal server error.');
    expect(messageOf('\nAuthentication failed.\n  Check your key.')).toBe('Authentication failed.');
    expect(messageOf('x'.repeat(9000))).toHaveLength(1000);
    expect(messageOf('')).toBe('');
  });

  it('comes with a message that says where to look if the CLI gave none', () => {
    const events = failedResult(readTrouble({ message: '' }, START), { usage: null, session: null });
    expect(events).toMatchObject([
      { error: { kind: 'other', message: expect.stringContaining('see stdout.log') as unknown } },
    ]);
  });

  it.each([
    'exit status 1: 401 tests passed, 403 failed',
    'wrote 500 lines to limits.ts',
    'Please wait and request a quota increase through AI Studio',
    'the limit of 200000 tokens was reached',
  ])('is other for text that only looks similar: %s', (message) => {
    const { limit, error } = readTrouble({ message }, START);
    expect({ limit, kind: error.kind }).toEqual({ limit: null, kind: 'other' });
  });
});
