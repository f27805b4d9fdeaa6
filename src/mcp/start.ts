/** Starting a loop in the background, as `ralph run --detach` does. */
import * as z from 'zod';
import type { McpChange } from '../settings/settings.ts';
import { parseTags } from '../settings/values.ts';
import type { LocalLoops, StartRequest } from '../loops/loops.ts';
import { promptFileIn } from '../loops/given-prompt.ts';
import { UserError } from '../user-error.ts';
import { duration, loopName, value, words } from './inputs.ts';
import { type Answer, type Tool, defineTool } from './tool.ts';

/** A tool that starts a loop in the folder `where`. */
export function startTool(
  loops: Pick<LocalLoops, 'start'>,
  tool: Pick<Tool, 'name' | 'title' | 'description'> & { readonly change?: McpChange },
  where: () => string | Promise<string>,
  isSandboxed = false,
): Tool {
  return defineTool({
    ...tool,
    input: isSandboxed ? INPUT.omit(NOT_IN_SANDBOX) : INPUT,
    effect: 'starts',
    run: async (args) => start(loops, args, await where()),
  });
}

const INPUT = z.strictObject({
  task: words('What the agent should do. Either this or prompt_file.').optional(),
  prompt_file: value(
    'File in the workspace with the task; the loop reads it again in every iteration.',
  ).optional(),
  name: loopName.optional().describe('Name of the loop. Default: made from the task.'),
  agent: value('Agent: claude, codex, opencode, gemini, … Default: as the settings say.').optional(),
  model: value('Model of the agent. Default: as the settings say.').optional(),
  checks: z
    .array(value('A shell command that must exit 0.'))
    .max(20)
    .optional()
    .describe('Checks that verify a claim to be done, instead of those in the settings.'),
  max_iterations: z.int().min(1).optional().describe('Maximum number of iterations.'),
  max_time: duration('Maximum active time, for example 2h.').optional(),
  max_cost: z.number().gt(0).optional().describe('Maximum cost in dollars.'),
  worktree: z.boolean().optional().describe('Whether the loop works in its own git worktree.'),
  sandbox: z
    .literal(true)
    .optional()
    .describe('Run the agent in a sandbox, also where the settings do not say so.'),
  tags: z.array(value('A tag.')).max(20).optional().describe('Words to find the loop by.'),
});

/** A child of an agent in a sandbox is as limited as that agent, and has its model. */
const NOT_IN_SANDBOX = { model: true, max_cost: true, worktree: true, sandbox: true } as const;

/** Starts the loop and says what it is. */
async function start(
  loops: Pick<LocalLoops, 'start'>,
  args: z.output<typeof INPUT>,
  workspace: string,
): Promise<Answer> {
  const { name, agent, model, checks, tags, worktree, sandbox } = args;
  const notes: string[] = [];
  const asked = {
    workspace,
    name,
    prompt: promptOf(args, workspace),
    settings: {
      agent: agent === undefined && model === undefined ? undefined : { name: agent, model },
      checks: checks?.map((command) => ({ command })),
      maxIterations: args.max_iterations,
      maxTime: args.max_time,
      maxCost: args.max_cost,
      worktree,
      sandbox,
    },
    tags: parseTags('tags', tags ?? []),
  };
  const { summary } = await loops.start(asked, {
    say: (line) => void notes.push(line),
    giving: (loop) => void notes.push(...loop.notes.map((note) => loop.mask.text(note))),
  });
  return { data: { started: summary, ...(notes.length === 0 ? {} : { notes: notes.join('\n') }) } };
}

function promptOf(
  { task, prompt_file: file }: Pick<z.output<typeof INPUT>, 'task' | 'prompt_file'>,
  workspace: string,
): StartRequest['prompt'] {
  if ((task === undefined) === (file === undefined)) throw new UserError('give either task or prompt_file');
  if (file === undefined) return { text: task ?? '' };
  return { file: promptFileIn(workspace, file) };
}
