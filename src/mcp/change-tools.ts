/**
 * Tools that change loops, for a person's assistant.
 *
 * 1. The settings have to allow each kind of change (`allowed.ts`).
 * 2. From inside a run they change only loops that the run's own loop has started, never that loop itself.
 */
import * as z from 'zod';
import type { McpChange } from '../config/config.ts';
import { Rights } from '../loops/rights.ts';
import { enclosingRuns } from '../store/enclosing-runs.ts';
import { workspaceWith } from '../store/find-workspace.ts';
import { findFolder } from '../store/read-loop.ts';
import { requireAllowed } from './allowed.ts';
import { duration, loopName, messageId, words } from './inputs.ts';
import { option, printed } from './command.ts';
import { startTool } from './start.ts';
import { defineTool, type Tool, type WorkspaceOf } from './tool.ts';

export function changeTools(workspaceOf: WorkspaceOf): readonly Tool[] {
  return [
    startTool(
      {
        name: 'start_loop',
        title: 'Start a loop',
        description:
          'Starts a loop in the background: a coding agent works on the task again and again, each time with a fresh context, until it claims to be done and the checks pass. Returns at once; follow it with loop_status.',
        change: 'start',
      },
      () => workspaceOf(null),
    ),
    defineTool({
      name: 'pause_loop',
      title: 'Pause a loop',
      description: 'Pauses a loop after its running iteration. It rests until it is resumed.',
      input: z.strictObject({ name: loopName }),
      effect: 'switches',
      change: 'pause',
      run: ({ name }, { signal }) => printed(['pause', name], { cwd: workspaceOf(name), signal }),
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
      run: ({ name, max_iterations, max_time, max_cost }, { signal }) =>
        printed(
          [
            'resume',
            name,
            '--detach',
            ...option('max-iterations', max_iterations),
            ...option('max-time', max_time),
            ...option('max-cost', max_cost),
          ],
          { cwd: workspaceOf(name), signal },
        ),
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
        printed(['stop', name, ...(now ? ['--now'] : [])], { cwd: workspaceOf(name), signal }),
    }),
    defineTool({
      name: 'tell_loop',
      title: 'Tell a loop something',
      description: "Adds words to the next prompt of a loop's agent, as guidance from its user.",
      input: z.strictObject({ name: loopName, text: words('What the agent should know or do.') }),
      effect: 'adds',
      change: 'tell',
      run: ({ name, text }, { signal }) =>
        printed(['tell', name, '-'], { cwd: workspaceOf(name), signal, input: text }),
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
      run: ({ name, text, question }, { signal }) =>
        printed(['answer', name, '-', ...option('question', question)], {
          cwd: workspaceOf(name),
          signal,
          input: text,
        }),
    }),
  ].map((tool) => guarded(tool, workspaceOf));
}

/** The tool with the permission that it needs, and without the loop that the caller runs in. */
function guarded(tool: Tool, workspaceOf: WorkspaceOf): Tool {
  const { name: toolName, change } = tool;
  if (change === null) return tool;
  return {
    ...tool,
    run: async (args, call) => {
      const { name } = NAMED.parse(args);
      const from = workspaceOf(name ?? null);
      // A new loop is a child of the run, and the command refuses a name that is taken.
      const found =
        change === 'start' || name === undefined ? null : findFolder(workspaceWith(from, name), name);
      if (change === 'start' || found === null) await allow(toolName)(change, from);
      else {
        const rights = new Rights(() => ({ is: 'assistant', runs: enclosingRuns(), allow: allow(toolName) }));
        await rights.require(change, found, `${toolName} ${found.name}`);
      }
      return tool.run(args, call);
    },
  };
}

function allow(tool: string): (change: McpChange, workspace: string) => Promise<void> {
  return (change, workspace) => requireAllowed(tool, change, workspace);
}

const NAMED = z.looseObject({ name: z.string().optional() });
