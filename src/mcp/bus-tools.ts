/**
 * Tools for the message bus of an agent's own loop. Its files lie in the workspace folder, which a sandbox shows
 * too.
 */
import { firstOf } from '../loops/here.ts';
import * as z from 'zod';
import { type BusFile, type Message, messagesAfter, readMessages } from '../bus/bus.ts';
import { type LoopBus, answerTo, busOfLoop, postTo } from '../loops/bus.ts';
import type { OwnLoop } from '../loops/own-loop.ts';
import { parseDuration } from '../settings/values.ts';
import { UserError } from '../user-error.ts';
import { duration, messageId, seconds, words } from './inputs.ts';
import { type Answer, type Tool, defineTool } from './tool.ts';

export function busTools(own: OwnLoop): readonly Tool[] {
  return [
    defineTool({
      name: 'post_message',
      title: 'Post a message',
      description:
        "Posts a message on the bus of this loop, where people, this loop's next runs and its children read it: facts, progress, decisions, errors. To ask a person something, use ask_question.",
      input: z.strictObject({
        type: z
          .string()
          .regex(/^[A-Za-z][\w-]{0,63}$/, 'must be a word such as INFO')
          .default('INFO')
          .describe('INFO, WARNING, ERROR, FACT, PROGRESS, DECISION, … Default: INFO.'),
        text: words('The message.'),
        parent: messageId('Id of the message that this one answers or continues.').optional(),
        project: PROJECT,
      }),
      effect: 'adds',
      run: async ({ type, text, parent, project }) => {
        if (type === 'QUESTION') throw new UserError('a question has a tool of its own: ask_question');
        const id = await postTo(busOf(own, project), { type, body: text, parent });
        return { text: `Posted as ${id}.` };
      },
    }),
    defineTool({
      name: 'read_messages',
      title: 'Read messages',
      description:
        'Returns the last messages on the bus of this loop, the oldest first, or those after a message that you know.',
      input: z.strictObject({
        since: messageId('Only messages after the one with this id.').optional(),
        type: z.string().max(64).optional().describe('Only messages of this type.'),
        last: z.int().min(1).max(200).default(20).describe('How many at most. Default: 20.'),
        project: PROJECT,
      }),
      effect: 'reads',
      run: async ({ since, type, last, project }) => {
        const found = readMessages(busOf(own, project).bus, { since });
        const wanted = found.filter((message) => type === undefined || message.type === type);
        return listed(wanted.slice(-last), wanted.length > last);
      },
    }),
    defineTool({
      name: 'ask_question',
      title: 'Ask a person',
      description:
        'Asks the person who looks after this loop a question. Then wait for the answer with wait_for_answer, or end your run: the loop waits, and your next run starts with the answer. With default and timeout, the default becomes the answer if none comes in time.',
      input: z.strictObject({
        question: words('The question, with all that a person needs to answer it.'),
        default: words('The answer if none comes in time. Needs timeout.').optional(),
        timeout: duration('When the default becomes the answer, for example 30m. Needs default.').optional(),
      }),
      effect: 'adds',
      run: async ({ question, default: otherwise, timeout }) => {
        if ((otherwise === undefined) !== (timeout === undefined))
          throw new UserError('default and timeout belong together: give both or none');
        const id = await postTo(busOf(own, false), {
          type: 'QUESTION',
          body: question,
          otherwise:
            otherwise === undefined || timeout === undefined
              ? undefined
              : { text: otherwise, afterMs: parseDuration('timeout', timeout) },
        });
        return {
          text: `Asked as ${id}. Wait for the answer with wait_for_answer, or end your run: the loop waits for it.`,
        };
      },
    }),
    defineTool({
      name: 'wait_for_answer',
      title: 'Wait for an answer',
      description: 'Waits until a person has answered a question that you asked, and returns the answer.',
      input: z.strictObject({ id: messageId('Id of the question, as ask_question returned it.'), seconds }),
      effect: 'reads',
      run: async ({ id, seconds: time }, { signal }) => {
        const { bus } = busOf(own, false);
        const question = askedAs(bus, id);
        const answer = await answerTo(bus, id, firstOf(signal, AbortSignal.timeout(time * 1000)));
        return { text: answer === null ? unanswered(question) : `The answer: ${answer.body}` };
      },
    }),
  ];
}

const PROJECT: z.ZodDefault<z.ZodBoolean> = z
  .boolean()
  .default(false)
  .describe('Use the bus of all loops of the workspace. Default: false.');

function busOf(own: OwnLoop, isProject: boolean): LoopBus {
  return busOfLoop(own, isProject, own.run);
}

function listed(messages: readonly Message[], hasMore: boolean): Answer {
  const lines = messages.map(
    ({ id, ts, type, taskId, body }) =>
      `[${ts}] ${type} from ${taskId === '' ? 'a person' : taskId} (${id})\n${indented(body)}`,
  );
  const text = lines.length === 0 ? ['There are no such messages.'] : lines;
  return { text: [...(hasMore ? ['(earlier messages are left out)'] : []), ...text].join('\n\n') };
}

/** Indented, so that no line of a body looks like a message. */
function indented(text: string): string {
  return text.trimEnd().replaceAll(/^/gm, '  ');
}

function askedAs(bus: BusFile, id: string): Message {
  const found = messagesAfter(bus, null).find((message) => message.id === id);
  if (found?.type !== 'QUESTION') throw new UserError(`there is no question ${id} on the bus of this loop`);
  return found;
}

function unanswered({ meta }: Message): string {
  const { default: otherwise } = meta;
  return [
    'No answer yet.',
    'End your run now: the loop waits for the answer and starts you again with it. Or go on with other work and ask again later.',
    ...(otherwise === undefined ? [] : [`If none comes in time, your default applies: ${otherwise}`]),
  ].join('\n');
}
