import type { Fault } from '../script.ts';
import { retryAfter, type Failure } from './protocol.ts';

/** An OpenAI error, the same for both of its APIs. */
export function openaiFailure(
  fault: Fault,
  now: number,
): Failure & { readonly body: { readonly error: object } } {
  if (fault.kind !== 'usage-limit') {
    const { status, ...error } = ERRORS[fault.kind];
    return { status, headers: retryAfter(fault), body: { error: { ...error, param: null } } };
  }
  const error = {
    type: 'usage_limit_reached',
    message: 'The usage limit has been reached',
    plan_type: 'plus',
    resets_at: Math.ceil(now / 1000) + fault.resetsInSeconds,
    resets_in_seconds: fault.resetsInSeconds,
  };
  return { status: 429, headers: { 'retry-after': String(fault.resetsInSeconds) }, body: { error } };
}

const ERRORS = {
  unauthorized: {
    status: 401,
    type: 'invalid_request_error',
    code: 'invalid_api_key',
    message: 'Incorrect API key provided',
  },
  broken: { status: 500, type: 'server_error', code: null, message: 'The server had an error' },
  // OpenAI has no 529; an overloaded engine answers with 503.
  overloaded: { status: 503, type: 'server_error', code: null, message: 'The engine is overloaded' },
  'rate-limit': {
    status: 429,
    type: 'rate_limit_exceeded',
    code: 'rate_limit_exceeded',
    message: 'Rate limited.',
  },
  'prompt-too-long': {
    status: 400,
    type: 'invalid_request_error',
    code: 'context_length_exceeded',
    message: 'Your input exceeds the context window of this model. Please adjust your input and try again.',
  },
  'out-of-credit': {
    status: 429,
    type: 'insufficient_quota',
    code: 'insufficient_quota',
    message:
      'You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.',
  },
} as const;
