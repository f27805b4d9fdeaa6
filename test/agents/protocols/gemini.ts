import { at, items } from '../json.ts';
import type { Fault } from '../script.ts';
import { pieces, retryAfter, unnamed, type Protocol } from './protocol.ts';

/** Google's Gemini API, for the Gemini CLI. */
export const gemini: Protocol = {
  name: 'gemini',
  owns: (path) => /:(?:streamGenerateContent|generateContent)$/.test(path),
  streams: (_question, path) => path.endsWith(':streamGenerateContent'),
  tools: (question) =>
    items(at(question, 'tools'))
      .flatMap((group) => items(at(group, 'functionDeclarations')))
      .map((tool) => ({ name: String(at(tool, 'name')), schema: at(tool, 'parametersJsonSchema') })),
  answer({ id, model, text, call, usage }) {
    const calls = call === null ? [] : [{ functionCall: { id: call.id, name: call.name, args: call.input } }];
    const reply = (parts: readonly object[], finishReason: 'STOP' | null) => ({
      responseId: id,
      modelVersion: model,
      candidates: [
        { index: 0, content: { role: 'model', parts }, ...(finishReason === null ? {} : { finishReason }) },
      ],
      usageMetadata: {
        promptTokenCount: usage.input + usage.cached,
        cachedContentTokenCount: usage.cached,
        candidatesTokenCount: usage.output,
        totalTokenCount: usage.input + usage.cached + usage.output,
      },
    });
    // The last piece has the finish reason: the CLI treats an end without text as a broken stream.
    const parts = [...pieces(text ?? '').map((piece) => ({ text: piece })), ...calls];
    return {
      whole: reply([...(text === null ? [] : [{ text }]), ...calls], 'STOP'),
      events: parts.map((part, index) => unnamed(reply([part], index === parts.length - 1 ? 'STOP' : null))),
    };
  },
  fail(fault) {
    const { code, status, message } = ERRORS[fault.kind];
    const details =
      fault.kind === 'usage-limit'
        ? quota(fault.resetsInSeconds)
        : fault.kind === 'rate-limit'
          ? [retryInfo(fault.retryAfterSeconds)]
          : null;
    const error = { code, status, message, ...(details === null ? {} : { details }) };
    return { status: code, headers: retryAfter(fault), body: { error } };
  },
  interrupt: (fault) => unnamed({ error: ERRORS[fault.kind] }),
};

/** A daily quota, at which the CLI gives up at once; it would wait for a shorter one itself. */
function quota(resetsInSeconds: number): readonly object[] {
  return [
    {
      '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
      violations: [{ quotaId: 'GenerateRequestsPerDayPerProjectPerModel-FreeTier' }],
    },
    retryInfo(resetsInSeconds),
  ];
}

function retryInfo(seconds: number): object {
  return { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${seconds}s` };
}

const ERRORS: Readonly<Record<Fault['kind'], { code: number; status: string; message: string }>> = {
  unauthorized: { code: 401, status: 'UNAUTHENTICATED', message: 'API key not valid.' },
  broken: { code: 500, status: 'INTERNAL', message: 'An internal error has occurred.' },
  overloaded: { code: 503, status: 'UNAVAILABLE', message: 'The model is overloaded.' },
  'prompt-too-long': {
    code: 400,
    status: 'INVALID_ARGUMENT',
    message: 'The input token count (1250000) exceeds the maximum number of tokens allowed (1048576).',
  },
  'out-of-credit': {
    code: 429,
    status: 'RESOURCE_EXHAUSTED',
    message:
      'Your prepayment credits are depleted. Please go to AI Studio at https://ai.studio/projects to manage your project and billing.',
  },
  'rate-limit': { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'Rate limited.' },
  'usage-limit': {
    code: 429,
    status: 'RESOURCE_EXHAUSTED',
    message: 'You exceeded your current quota, please check your plan and billing details.',
  },
};
