/**
 * Tools that change loops, for a person's assistant.
 *
 * 1. The settings have to allow each kind of change (`allowed.ts`).
 * 2. From inside a run they change only loops that the run's own loop has started, never that loop itself.
 */
import { firstOf } from '../loops/here.ts';
import * as z from 'zod';
import type { McpChange, Settings } from '../settings/settings.ts';
import type { LoopRef, Sent } from '../loops/loops.ts';
import { answeredText, sentText, stoppingText, toldText } from '../text/sent.ts';
import { textsOf } from '../text/wording.ts';
import { duration, loopName, messageId, words } from './inputs.ts';
import { findToChange, requireChange, type ToolLoops } from './loops.ts';
import { startTool } from './start.ts';
import { defineTool, type Answer, type Tool, type WorkspaceOf } from './tool.ts';

export function changeTools(loops: ToolLoops, workspaceOf: WorkspaceOf): readonly Tool[] {
  const change = async (
    kind: McpChange,
    name: string,
    send: (loop: LoopRef) => Promise<Sent>,
    done: (sent: Sent, loop: LoopRef) => string | Promise<string>,
  ): Promise<Answer> => {
    const loop = await findToChange(loops, kind, name, workspaceOf(name));
    const sent = await send(loop);
    return { text: sentText(loop, sent, await done(sent, loop))?.text ?? `stopped ${name}` };
  };
  return [
    startTool(
      loops,
      {
        name: 'start_loop',
        title: 'Start a loop',
        description:
          'Starts a loop in the background: a coding agent works on the task again and again, each time with a fresh context, until it claims to be done and the checks pass. Returns at once; follow it with loop_status.',
        change: 'start',
      },
      async () => {
        const workspace = workspaceOf(null);
        await requireChange('start', workspace);
        return workspace;
      },
    ),
    defineTool({
      name: 'pause_loop',
      title: 'Pause a loop',
      description: 'Pauses a loop after its running iteration. It rests until it is resumed.',
      input: z.strictObject({ name: loopName }),
      effect: 'switches',
      change: 'pause',
      run: ({ name }) =>
        change(
          'pause',
          name,
          (loop) => loops.send(loop, { type: 'pause' }),
          async (_, loop) => textsOf((await loops.get(loop)).state.policy.wording).paused(name),
        ),
    }),
    defineTool({
      name: 'resume_loop',
      title: 'Resume a loop',
      description:
        'Resumes a loop that is paused, was stopped, crashed or hit a limit. It continues in the background. A loop that hit a limit needs a higher one.',
      input: z.strictObject({
        name: loopName,
        max_iterations: z.int().min(1).optional().describe('New maximum number of iterations.'),
        max_time: duration('New maximum active time, for example 2h.').optional(),
        max_cost: z.number().gt(0).optional().describe('New maximum cost in dollars.'),
      }),
      effect: 'starts',
      change: 'resume',
      run: ({ name, max_iterations, max_time, max_cost }) => {
        const limits: Settings = { maxIterations: max_iterations, maxTime: max_time, maxCost: max_cost };
        return change(
          'resume',
          name,
          (loop) => loops.resume(loop, { limits, now: false, env: {}, detach: true }),
          async (_, loop) => textsOf((await loops.get(loop)).state.policy.wording).resumed(name),
        );
      },
    }),
    defineTool({
      name: 'stop_loop',
      title: 'Stop a loop',
      description: 'Stops a loop after its running step, or at once. It can be resumed later.',
      input: z.strictObject({
        name: loopName,
        now: z.boolean().default(false).describe('Also stop the running step. Default: false.'),
      }),
      effect: 'ends',
      change: 'stop',
      run: ({ name, now }, { signal }) =>
        change(
          'stop',
          name,
          (loop) =>
            loops.send(
              loop,
              { type: 'stop', now, by: 'person' },
              { signal: firstOf(signal, AbortSignal.timeout(STOP_MS)) },
            ),
          (sent) => stoppingText(name, sent),
        ),
    }),
    defineTool({
      name: 'tell_loop',
      title: 'Tell a loop something',
      description: "Adds words to the next prompt of a loop's agent, as guidance from its user.",
      input: z.strictObject({ name: loopName, text: words('What the agent should know or do.') }),
      effect: 'adds',
      change: 'tell',
      run: ({ name, text }) =>
        change(
          'tell',
          name,
          (loop) => loops.send(loop, { type: 'tell', text: text.trim() }),
          () => toldText(name),
        ),
    }),
    defineTool({
      name: 'answer_question',
      title: 'Answer a question',
      description:
        'Answers a question that the agent of a loop has asked; the loop continues with the answer. loop_status lists the open questions.',
      input: z.strictObject({
        name: loopName,
        text: words('The answer.'),
        question: messageId('Id of the question. Default: the oldest open one.').optional(),
      }),
      effect: 'adds',
      change: 'answer',
      run: ({ name, text, question = null }) =>
        change(
          'answer',
          name,
          (loop) => loops.send(loop, { type: 'answer', question, text: text.trim() }),
          (sent) => answeredText(name, sent),
        ),
    }),
  ];
}

/** As long as clients wait for an answer. */
const STOP_MS = 50_000;
