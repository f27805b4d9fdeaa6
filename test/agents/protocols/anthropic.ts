import { at, items } from '../json.ts';
import type { Fault } from '../script.ts';
import { named, pieces, retryAfter, type Answer, type Protocol, type StreamEvent } from './protocol.ts';

/** Anthropic's Messages API, for Claude Code. */
export const anthropic: Protocol = {
  name: 'anthropic',
  owns: (path) => path.endsWith('/v1/messages'),
  streams: (question) => at(question, 'stream') === true,
  tools: (question) =>
    items(at(question, 'tools')).map((tool) => ({
      name: String(at(tool, 'name')),
      schema: at(tool, 'input_schema'),
    })),
  answer({ id, model, text, call, usage }) {
    const content = [
      ...(text === null ? [] : [{ type: 'text', text }]),
      ...(call === null ? [] : [{ type: 'tool_use', ...call }]),
    ];
    const message = { id: `msg_${id}`, type: 'message', role: 'assistant', model, stop_sequence: null };
    const counts = {
      input_tokens: usage.input,
      cache_read_input_tokens: usage.cached,
      cache_creation_input_tokens: 0,
      output_tokens: usage.output,
    };
    const stop_reason = call === null ? 'end_turn' : 'tool_use';
    const begun = { ...message, content: [], stop_reason: null, usage: { ...counts, output_tokens: 1 } };
    return {
      whole: { ...message, content, stop_reason, usage: counts },
      events: [
        named('message_start', { message: begun }),
        ...blocks({ text, call }),
        named('message_delta', { delta: { stop_reason, stop_sequence: null }, usage: counts }),
        named('message_stop', {}),
      ],
    };
  },
  fail(fault, now) {
    const { status, type, message } = ERRORS[fault.kind];
    const headers =
      fault.kind === 'usage-limit' ? subscriptionHeaders(now, fault.resetsInSeconds) : retryAfter(fault);
    return { status, headers, body: { type: 'error', error: { type, message } } };
  },
  interrupt(fault) {
    const { type, message } = ERRORS[fault.kind];
    return named('error', { error: { type, message } });
  },
};

/** The text and the tool call, each as a block with a start, deltas and an end. */
function blocks({ text, call }: Pick<Answer, 'text' | 'call'>): readonly StreamEvent[] {
  const opened = [
    ...(text === null
      ? []
      : [
          {
            content_block: { type: 'text', text: '' },
            deltas: pieces(text).map((piece) => ({ type: 'text_delta', text: piece })),
          },
        ]),
    ...(call === null
      ? []
      : [
          {
            content_block: { type: 'tool_use', id: call.id, name: call.name, input: {} },
            deltas: pieces(JSON.stringify(call.input)).map((partial_json) => ({
              type: 'input_json_delta',
              partial_json,
            })),
          },
        ]),
  ];
  return opened.flatMap(({ content_block, deltas }, index) => [
    named('content_block_start', { index, content_block }),
    ...deltas.map((delta) => named('content_block_delta', { index, delta })),
    named('content_block_stop', { index }),
  ]);
}

/** The headers with the reset time of a subscription's limit; Claude Code reads them only with an OAuth token. */
function subscriptionHeaders(now: number, resetsInSeconds: number): Record<string, string> {
  return {
    'anthropic-ratelimit-unified-status': 'rejected',
    'anthropic-ratelimit-unified-representative-claim': 'five_hour',
    'anthropic-ratelimit-unified-reset': String(Math.ceil(now / 1000) + resetsInSeconds),
  };
}

const ERRORS: Readonly<Record<Fault['kind'], { status: number; type: string; message: string }>> = {
  unauthorized: { status: 401, type: 'authentication_error', message: 'invalid x-api-key' },
  broken: { status: 500, type: 'api_error', message: 'Internal server error' },
  overloaded: { status: 529, type: 'overloaded_error', message: 'Overloaded' },
  'prompt-too-long': {
    status: 400,
    type: 'invalid_request_error',
    message: 'prompt is too long: 250000 tokens > 200000 maximum',
  },
  'out-of-credit': {
    status: 400,
    type: 'invalid_request_error',
    message:
      'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
  },
  'rate-limit': { status: 429, type: 'rate_limit_error', message: 'Rate limited.' },
  'usage-limit': { status: 429, type: 'rate_limit_error', message: 'This would exceed the usage limit.' },
};
