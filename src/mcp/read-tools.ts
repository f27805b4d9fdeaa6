/** Tools that show the loops of a workspace and change nothing. */
import * as z from 'zod';
import { type LoopRow, WORKER_STATUSES } from '../loops/list.ts';
import type { LocalLoops, LoopRef, Loops } from '../loops/loops.ts';
import { readStory } from '../loops/story.ts';
import { parseDuration } from '../settings/values.ts';
import type { StoryFilter } from '../text/story.ts';
import { localTime } from '../text/times.ts';
import { statusData } from '../text/status.ts';
import { duration, loopName, value } from './inputs.ts';
import { logText } from './log-text.ts';
import { type Answer, type Tool, type WorkspaceOf, defineTool } from './tool.ts';

export function readTools(loops: LocalLoops, workspaceOf: WorkspaceOf): readonly Tool[] {
  return [
    defineTool({
      name: 'list_loops',
      title: 'List loops',
      description:
        'Lists the loops of this workspace with their status, iterations, and what they wait for or why they ended.',
      input: z.strictObject({
        status: z
          .enum([...WORKER_STATUSES])
          .optional()
          .describe('Only loops with this status.'),
        tag: value('Only loops with this tag.').optional(),
      }),
      effect: 'reads',
      run: async ({ status = null, tag = null }) =>
        listed(await loops.list({ workspace: workspaceOf(null), status, tag })),
    }),
    defineTool({
      name: 'loop_story',
      title: 'Tell the story of a loop',
      description:
        'Tells what Ralph did in a loop and when: iterations, results of checks, claims and why they were rejected, waits, commits.',
      input: z.strictObject({
        name: loopName,
        since: duration('Only the last part, for example 2h or 30m.').optional(),
        iteration: z.int().min(1).optional().describe('Only this iteration.'),
      }),
      effect: 'reads',
      run: async ({ name, since, iteration = null }) => {
        const loop = await loops.find(name, workspaceOf(name));
        const from = since === undefined ? 0 : Date.now() - parseDuration('since', since);
        return { text: await storyText(loops, loop, { from, iteration }) };
      },
    }),
    defineTool({
      name: 'loop_logs',
      title: 'Read the logs of a loop',
      description: 'Returns the last lines of what the agent of a loop said and did in one run.',
      input: z.strictObject({
        name: loopName,
        run: z
          .string()
          .regex(/^\d{1,6}(?:\.\d{1,4})?$/, 'must be the number of an iteration, or of a run such as 7.2')
          .optional()
          .describe('Iteration, or run of an iteration: 7 or 7.2. Default: the last one.'),
        lines: z.int().min(1).max(2000).default(200).describe('How many lines. Default: 200.'),
        stderr: z.boolean().default(false).describe('Return stderr instead of stdout.'),
      }),
      effect: 'reads',
      run: async ({ name, run = null, lines, stderr }) => {
        const loop = await loops.get(await loops.find(name, workspaceOf(name)));
        return { text: await logText(loops, loop, { run, lines, what: stderr ? 'stderr' : 'stdout' }) };
      },
    }),
  ];
}

async function storyText(loops: LocalLoops, loop: LoopRef, filter: StoryFilter): Promise<string> {
  const lines: string[] = [];
  for await (const { at, text } of readStory(loops, loop, filter))
    lines.push(`${localTime(at).replace('T', ' ')}  ${text}`);
  return lines.join('\n');
}

/** The status of a loop; `own` is the loop of this server's run, and the default. */
export function statusTool(loops: Loops, workspaceOf: WorkspaceOf, own: string | null): Tool {
  return defineTool({
    name: 'loop_status',
    title: 'Show the status of a loop',
    description:
      'Returns the state of a loop as JSON: status, iterations, cost, results of its checks, open questions, what it waits for, why it ended and what to do next.',
    input: z.strictObject({
      name: own === null ? loopName : loopName.default(own).describe(`Name of the loop. Default: ${own}.`),
    }),
    effect: 'reads',
    run: async ({ name }) => ({
      data: statusData(await loops.get(await loops.find(name, workspaceOf(name)))),
    }),
  });
}

function listed(loops: readonly LoopRow[]): Answer {
  const rows = loops
    .slice(0, MOST_LOOPS)
    .map((loop) => Object.fromEntries(Object.entries(loop).filter(([key]) => SHOWN.has(key))));
  const more = loops.length - rows.length;
  return { data: { loops: rows, ...(more > 0 ? { more } : {}) } };
}

/** What a list says of a loop; `loop_status` has the rest. */
const SHOWN: ReadonlySet<string> = new Set([
  'name',
  'status',
  'iterations',
  'iterationLimit',
  'owner',
  'tags',
  'waiting',
  'reason',
  'warning',
  'next',
]);
const MOST_LOOPS = 100;
