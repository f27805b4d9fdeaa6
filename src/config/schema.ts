/** The one schema of the settings: what is valid, and what every key means. Loaded only where there is a file to judge. */
import * as z from 'zod';
import { FAIL_ACTIONS, PRESET_NAMES, UNTILS } from '../loop/policy.ts';
import { PROMPT_WAYS, type Settings } from './config.ts';
import { DURATION, SIZE, VARIABLE } from './values.ts';

/** What is wrong with a value: where it stands in the file, and a sentence that begins with `must`, or the key that nobody knows. */
export type SchemaProblem =
  | { readonly path: string; readonly must: string; readonly value: unknown }
  | { readonly path: string; readonly unknown: string; readonly known: readonly string[] };

/** Everything that is wrong with the content of a file. */
export function findSchemaProblems(content: unknown): readonly SchemaProblem[] {
  const result = SETTINGS.safeParse(content);
  if (result.success) return [];
  return result.error.issues.flatMap((issue): SchemaProblem[] => {
    const path = pathOf(issue.path);
    if (issue.code !== 'unrecognized_keys')
      return [{ path, must: issue.message, value: valueAt(content, issue.path) }];
    const known = keysOf(issue.path);
    return issue.keys.map((key) => ({ path: path === '' ? key : `${path}.${key}`, unknown: key, known }));
  });
}

/** The schema for editors. */
export function jsonSchema(): Readonly<Record<string, unknown>> {
  return z.toJSONSchema(SETTINGS, { target: 'draft-7' });
}

const NO_NUL = 'must be a text without NUL characters';
/** No program could be given one. */
const anyText = (params: Parameters<typeof z.string>[0] = { error: 'must be a text' }): z.ZodString =>
  z.string(params).refine((value) => !value.includes('\0'), NO_NUL);
const whole = (least: number, must: string): z.ZodNumber => z.int({ error: must }).min(least, must);
const positive = whole(1, 'must be a positive integer');
const text = (must = 'must not be empty'): z.ZodString =>
  anyText({ error: ({ input }) => (input === undefined ? must : 'must be a text') }).regex(/\S/, must);
const yesOrNo = z.boolean({ error: 'must be true or false' });
const oneOf = <const Values extends readonly [string, ...string[]]>(values: Values, must?: string) =>
  z.enum(values, { error: must ?? `must be one of ${values.join(', ')}` });
const list = <Item extends z.ZodType>(item: Item, of: string) =>
  z.array(item, { error: `must be a list of ${of}` });
const object = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.strictObject(shape, {
    error: (issue) => (issue.code === 'invalid_type' ? 'must be an object' : undefined),
  });

const time = (): z.ZodType<number | string> => {
  const must = 'must be a time such as 90, "90s", "15m" or "2h"';
  return z.union([z.number().min(0, must).max(LONGEST_SECONDS, must), z.string().regex(DURATION, must)], {
    error: must,
  });
};
/** A thousand years. */
const LONGEST_SECONDS = 3.2e10;

const A_SIZE = 'must be a size such as 1000, "500k", "20m" or "1g"';
const size = z.union([z.int(A_SIZE).min(1, A_SIZE), z.string().regex(SIZE, A_SIZE)], { error: A_SIZE });

const guardrail = object({
  command: text().describe('A line for the shell, run in the workspace; it has to exit with 0.'),
  failAction: oneOf(FAIL_ACTIONS, 'must be APPEND, PREPEND, or REPLACE')
    .optional()
    .describe('Where the text of its failure goes in the next prompt. Without it: APPEND.'),
  hint: anyText().optional().describe('Told to the agent when it fails, as it is.'),
});

const agent = object({
  name: text()
    .optional()
    .describe('The adapter, where the command does not tell it: claude, codex, …, custom.'),
  command: text().optional().describe('The program that is the agent: claude, codex, amp, or any other.'),
  flags: list(anyText(), 'texts')
    .optional()
    .describe(
      'Flags for it; one with blanks is split into words. They take the place of those that let it work without asking.',
    ),
  model: text().optional().describe('The model that it uses.'),
  promptVia: oneOf(PROMPT_WAYS)
    .optional()
    .describe('How the prompt reaches it, where not in the way of its adapter.'),
  env: object({
    drop: list(
      z.string({ error: 'must be a text' }).regex(VARIABLE, 'must be the name of a variable'),
      'names',
    )
      .optional()
      .describe('Variables of the environment that it does not get to see.'),
  })
    .optional()
    .describe('What it finds in its environment.'),
});

const scm = object({
  command: text().optional().describe('The program of the version control, e.g. git.'),
  tasks: list(text(), 'texts')
    .optional()
    .describe(
      'What it is called with after each iteration whose checks passed, in order. `commit` commits what the loop has changed, with a message by the agent.',
    ),
  timeout: time().optional().describe('The time that one task may take; 0 for any. Without it: 10m.'),
});

const SETTINGS: z.ZodType<Settings> = object({
  $schema: z
    .string({ error: 'must be a text' })
    .optional()
    .describe('Where editors find the schema of this file.'),
  preset: oneOf(PRESET_NAMES)
    .optional()
    .describe('The bundle of values that all others are changes to (docs/presets.md).'),
  maximumIterations: positive.optional().describe('The most iterations.'),
  maxTime: time().optional().describe('The time that the loop may be at work.'),
  maxFailures: positive.optional().describe('Failed runs in a row after which it ends.'),
  maxCost: z
    .number({ error: 'must be an amount of dollars > 0' })
    .gt(0, 'must be an amount of dollars > 0')
    .optional()
    .describe('What the agent may spend, in dollars.'),
  maxTokens: positive.optional().describe('The tokens that the agent may use.'),
  maxOutput: size.optional().describe('What one run may print.'),
  iterationTimeout: time().optional().describe('The time that one run may take; 0 for any.'),
  inactivityTimeout: time().optional().describe('The time that a run may be silent; 0 for any.'),
  restartDelay: time().optional().describe('The time between two iterations.'),
  killGrace: time().optional().describe('The time that an agent gets to end by itself.'),
  completionResponse: text().optional().describe('What `<response>…</response>` must say.'),
  completionPromise: text().optional().describe('What `<promise>…</promise>` must say.'),
  completionTag: text().optional().describe('A word in the final answer that says it is done.'),
  donePattern: text()
    .optional()
    .describe("A regular expression (Python's syntax) in the agent's words that says it is done."),
  doneFile: text().optional().describe('A file whose presence says it is done.'),
  until: oneOf(UNTILS)
    .optional()
    .describe(
      'What completes the loop: `both`, a claim that every check agrees with; `checks`, green checks alone; `claim`, the claim alone, whatever the checks say. Without it: `both` where there are checks, `claim` where there are none.',
    ),
  guardrails: list(guardrail, 'guardrails').optional().describe('The checks, in their order.'),
  checkTimeout: time().optional().describe('The time that one check may take; 0 for any.'),
  baseline: yesOrNo
    .optional()
    .describe(
      'Run the checks once before the first iteration, to tell what was red before. On in `ralph loop`.',
    ),
  outputTruncateChars: positive
    .optional()
    .describe("Characters of a failed check's output that the agent gets to read."),
  includeIterationCountInPrompt: yesOrNo
    .optional()
    .describe('Begin every prompt with `Iteration X of Y, Z remaining.`'),
  agent: agent.optional().describe('Who does the work.'),
  scm: scm.optional().describe('What happens with the work in the version control.'),
  worktree: yesOrNo
    .optional()
    .describe(
      'Work in a git worktree of its own, on a branch of its own. Without `scm.tasks` every iteration whose checks passed is committed there, with the task as the message.',
    ),
  setup: list(text(), 'texts')
    .optional()
    .describe('Lines for the shell, run once in a fresh worktree before the first iteration: `npm ci`.'),
  setupTimeout: time().optional().describe('The time that one of them may take; 0 for any.'),
  streamAgentOutput: yesOrNo.optional().describe('Show what the agent says and does.'),
  emoji: yesOrNo
    .optional()
    .describe('Show emoji, also where the terminal does not seem to have them, or never.'),
  timestamps: yesOrNo.optional().describe('The time in front of every line.'),
  outputLines: whole(0, 'must be a whole number >= 0')
    .optional()
    .describe("Lines of a tool's output that are shown."),
  outputChars: whole(0, 'must be a whole number >= 0').optional().describe('Characters of each of them.'),
});

/** `guardrails[0].command`. */
function pathOf(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (place, part) =>
      typeof part === 'number'
        ? `${place}[${part}]`
        : place === ''
          ? String(part)
          : `${place}.${String(part)}`,
    '',
  );
}

function valueAt(content: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, part): unknown =>
      typeof value === 'object' && value !== null ? Reflect.get(value, part) : undefined,
    content,
  );
}

/** The keys that an object at this place may have. */
function keysOf(path: readonly PropertyKey[]): readonly string[] {
  let schema: unknown = SETTINGS;
  for (const part of path) {
    const inner = unwrapped(schema);
    schema =
      inner instanceof z.ZodArray
        ? inner.element
        : inner instanceof z.ZodObject
          ? inner.shape[String(part)]
          : null;
  }
  const found = unwrapped(schema);
  return found instanceof z.ZodObject ? Object.keys(found.shape) : [];
}

function unwrapped(schema: unknown): unknown {
  return schema instanceof z.ZodOptional ? unwrapped(schema.unwrap()) : schema;
}
