/** Starting a loop in the background, as `ralph run --detach` does. */
import { isAbsolute, relative, resolve } from 'node:path';
import * as z from 'zod';
import type { McpChange } from '../config/config.ts';
import { isInside, realPath } from '../files/paths.ts';
import { isRecord } from '../loop/shape.ts';
import { UserError } from '../user-error.ts';
import { option, runForJson, type CommandOptions } from './command.ts';
import { duration, loopName, value, words } from './inputs.ts';
import { defineTool, type Answer, type Tool } from './tool.ts';

/** A tool that starts a loop in the folder `where`. */
export function startTool(
  tool: Pick<Tool, 'name' | 'title' | 'description'> & { readonly change?: McpChange },
  where: () => string | Promise<string>,
  isSandboxed = false,
): Tool {
  return defineTool({
    ...tool,
    input: isSandboxed ? INPUT.omit(NOT_IN_SANDBOX) : INPUT,
    effect: 'starts',
    run: async (args, { signal }) => start(args, { cwd: await where(), signal }),
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
async function start(args: z.output<typeof INPUT>, options: CommandOptions): Promise<Answer> {
  const { task, prompt_file: file } = args;
  if ((task === undefined) === (file === undefined)) throw new UserError('give either task or prompt_file');
  const prompt = file === undefined ? '-' : fileIn(options.cwd, file);
  const { value: summary, notes } = await runForJson(
    ['run', '--detach', '--json', `--prompt-file=${prompt}`, ...optionsFrom(args)],
    { ...options, input: task ?? '', timeoutMs: START_MS },
  );
  return { data: { started: isRecord(summary) ? summary : {}, ...(notes === '' ? {} : { notes }) } };
}

/** A new worktree may have a set-up. */
const START_MS = 10 * 60_000;

function optionsFrom(args: z.output<typeof INPUT>): readonly string[] {
  return [
    ...option('name', args.name),
    ...option('agent', args.agent),
    ...option('model', args.model),
    ...(args.checks ?? []).map((command) => `--check=${command}`),
    ...option('max-iterations', args.max_iterations),
    ...option('max-time', args.max_time),
    ...option('max-cost', args.max_cost),
    ...flag('worktree', args.worktree),
    ...flag('sandbox', args.sandbox),
    ...(args.tags ?? []).map((tag) => `--tag=${tag}`),
  ];
}

function flag(name: string, given: boolean | undefined): readonly string[] {
  return given === undefined ? [] : [given ? `--${name}` : `--no-${name}`];
}

/** The file relative to the workspace; links are resolved, so that none leads out of it. */
function fileIn(workspace: string, file: string): string {
  const path = realPath(resolve(workspace, file));
  if (isAbsolute(file) || !isInside(realPath(workspace), path))
    throw new UserError(
      `prompt_file must be a path in the workspace, relative to it; got ${JSON.stringify(file)}`,
    );
  // With the folder, because `-` alone is stdin.
  return `./${relative(realPath(workspace), path)}`;
}
