import { at, items } from '../json.ts';
import { openaiFailure } from './openai-errors.ts';
import { named, pieces, type Answer, type Protocol, type StreamEvent, type Tool } from './protocol.ts';

/** OpenAI's Responses API, for Codex. */
export const responses: Protocol = {
  name: 'responses',
  owns: (path) => path.endsWith('/responses'),
  streams: (question) => at(question, 'stream') === true,
  tools: (question) => flatten(at(question, 'tools')),
  answer(answer) {
    const { id, model, usage } = answer;
    const response = {
      id: `resp_${id}`,
      object: 'response',
      model,
      status: 'completed',
      output: outputOf(answer),
      usage: {
        input_tokens: usage.input + usage.cached,
        input_tokens_details: { cached_tokens: usage.cached },
        output_tokens: usage.output,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: usage.input + usage.cached + usage.output,
      },
    };
    const begun = { ...response, status: 'in_progress', output: [], usage: null };
    return {
      whole: response,
      events: [
        named('response.created', { response: begun }),
        ...response.output.flatMap((item, output_index) => [
          ...(item.type === 'message' ? deltas(item, output_index) : []),
          named('response.output_item.done', { output_index, item }),
        ]),
        named('response.completed', { response }),
      ],
    };
  },
  fail: openaiFailure,
  interrupt: (fault) =>
    named('response.failed', {
      response: { id: 'resp_failed', object: 'response', status: 'failed', ...openaiFailure(fault, 0).body },
    }),
};

/** Codex groups some of its tools in namespaces. */
function flatten(tools: unknown, namespace?: string): readonly Tool[] {
  const group = namespace === undefined ? {} : { namespace };
  return items(tools).flatMap((tool) =>
    at(tool, 'type') === 'namespace'
      ? flatten(at(tool, 'tools'), String(at(tool, 'name')))
      : [{ name: String(at(tool, 'name')), schema: at(tool, 'parameters'), ...group }],
  );
}

function outputOf({ id, text, call }: Answer): readonly (Message | FunctionCall)[] {
  const message =
    text === null
      ? []
      : [
          {
            id: `msg_${id}`,
            type: 'message' as const,
            status: 'completed',
            role: 'assistant',
            content: [{ type: 'output_text', text, annotations: [] }],
          },
        ];
  const functionCall =
    call === null
      ? []
      : [
          {
            id: `fc_${id}`,
            type: 'function_call' as const,
            status: 'completed',
            call_id: call.id,
            name: call.name,
            ...(call.namespace === undefined ? {} : { namespace: call.namespace }),
            arguments: JSON.stringify(call.input),
          },
        ];
  return [...message, ...functionCall];
}

interface Message {
  readonly id: string;
  readonly type: 'message';
  readonly content: readonly { readonly text: string }[];
}

interface FunctionCall {
  readonly id: string;
  readonly type: 'function_call';
}

/** The stream events of a message before it is complete. */
function deltas(item: Message, output_index: number): readonly StreamEvent[] {
  const place = { item_id: item.id, output_index, content_index: 0 };
  return [
    named('response.output_item.added', {
      output_index,
      item: { ...item, status: 'in_progress', content: [] },
    }),
    ...item.content
      .flatMap(({ text }) => pieces(text))
      .map((delta) => named('response.output_text.delta', { ...place, delta })),
  ];
}
