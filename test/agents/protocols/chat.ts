import { at, items } from '../json.ts';
import { openaiFailure } from './openai-errors.ts';
import { pieces, unnamed, type Protocol, type StreamEvent } from './protocol.ts';

/** OpenAI's Chat Completions API, for opencode, Qwen Code and the Copilot CLI. */
export const chat: Protocol = {
  name: 'chat',
  owns: (path) => path.endsWith('/chat/completions'),
  streams: (question) => at(question, 'stream') === true,
  tools: (question) =>
    items(at(question, 'tools')).map((tool) => ({
      name: String(at(tool, 'function', 'name')),
      schema: at(tool, 'function', 'parameters'),
    })),
  answer({ id, model, text, call, usage }) {
    const head = { id: `chatcmpl-${id}`, created: 0, model };
    const finish_reason = call === null ? 'stop' : 'tool_calls';
    const input = call === null ? '' : JSON.stringify(call.input);
    const called = (args: string) =>
      call === null
        ? {}
        : {
            tool_calls: [
              { index: 0, id: call.id, type: 'function', function: { name: call.name, arguments: args } },
            ],
          };
    const counts = {
      prompt_tokens: usage.input + usage.cached,
      prompt_tokens_details: { cached_tokens: usage.cached },
      completion_tokens: usage.output,
      total_tokens: usage.input + usage.cached + usage.output,
    };
    const chunk = (delta: object, reason: string | null = null): StreamEvent =>
      unnamed({
        ...head,
        object: 'chat.completion.chunk',
        choices: [{ index: 0, delta, finish_reason: reason }],
      });
    const message = { role: 'assistant', content: text, ...called(input) };
    return {
      whole: {
        ...head,
        object: 'chat.completion',
        choices: [{ index: 0, message, finish_reason }],
        usage: counts,
      },
      events: [
        chunk({ role: 'assistant', content: '' }),
        ...pieces(text ?? '').map((content) => chunk({ content })),
        ...(call === null ? [] : [chunk(called(''))]),
        ...pieces(input).map((piece) =>
          chunk({ tool_calls: [{ index: 0, function: { arguments: piece } }] }),
        ),
        chunk({}, finish_reason),
        unnamed({ ...head, object: 'chat.completion.chunk', choices: [], usage: counts }),
        unnamed('[DONE]'),
      ],
    };
  },
  fail: openaiFailure,
  interrupt: (fault) => unnamed(openaiFailure(fault, 0).body),
};
