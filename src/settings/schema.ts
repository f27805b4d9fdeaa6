/** The schema of the settings: validates and describes every key. Loaded only to validate a file, since zod is large. */
import * as z from 'zod';
import { NOTICE_KINDS } from '../loop/notice.ts';
import { FAIL_ACTIONS, ON_PROTECTED_CHANGE, PRESET_NAMES, UNTILS } from '../loop/policy.ts';
import { CHECK_ALIASES, SETTING_ALIASES } from './aliases.ts';
import { MCP_CHANGES, PROMPT_WAYS, type Settings } from './settings.ts';
import { DURATION, SIZE, VARIABLE } from './values.ts';

/** An invalid value with its path and a sentence that starts with `must`, or an unknown key. */
export type SchemaProblem =
  | { readonly path: string; readonly must: string; readonly value: unknown }
  | { readonly path: string; readonly unknown: string; readonly known: readonly string[] };

/** Everything that is wrong with the content of a file, whose aliases are already resolved. */
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

/** The schema for editors, with the aliases as deprecated keys. */
export function jsonSchema(): Readonly<Record<string, unknown>> {
  const schema = z.toJSONSchema(SETTINGS, { target: 'draft-7' });
  const checks = schema.properties?.['checks'];
  const items = typeof checks === 'object' ? checks.items : undefined;
  if (typeof items === 'object' && !Array.isArray(items))
    addAliases(items, CHECK_ALIASES, '#/properties/checks/items');
  addAliases(schema, SETTING_ALIASES, '#');
  return schema;
}

/** A file may have either name of a setting, not both. */
function addAliases(
  schema: z.core.JSONSchema.BaseSchema,
  aliases: ReadonlyMap<string, string>,
  at: string,
): void {
  for (const [alias, name] of aliases) {
    // In draft 7 a `$ref` hides the keys beside it, so it goes into an `allOf`.
    const same = { allOf: [{ $ref: `${at}/properties/${name}` }] };
    const description = `Alias of \`${name}\`.`;
    schema.properties = { ...schema.properties, [alias]: { ...same, description, deprecated: true } };
    schema.allOf = [...(schema.allOf ?? []), { not: { required: [alias, name] } }];
  }
}

const NO_NUL = 'must be a string without NUL characters';
/** A program cannot receive NUL in an argument. */
const anyText = (params: Parameters<typeof z.string>[0] = { error: 'must be a string' }): z.ZodString =>
  z.string(params).refine((value) => !value.includes('\0'), NO_NUL);
const whole = (min: number, must: string): z.ZodNumber => z.int({ error: must }).min(min, must);
const positive = whole(1, 'must be a positive integer');
const text = (must = 'must not be empty'): z.ZodString =>
  anyText({ error: ({ input }) => (input === undefined ? must : 'must be a string') }).regex(/\S/, must);
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
  return z.union([z.number().min(0, must).max(MAX_SECONDS, must), z.string().regex(DURATION, must)], {
    error: must,
  });
};
/** A thousand years. */
const MAX_SECONDS = 3.2e10;

const A_SIZE = 'must be a size such as 1000, "500k", "20m" or "1g"';
const size = z.union([z.int(A_SIZE).min(1, A_SIZE), z.string().regex(SIZE, A_SIZE)], { error: A_SIZE });

const check = object({
  command: text().describe('Shell command, run in the workspace. It passes with exit code 0.'),
  failAction: oneOf(FAIL_ACTIONS, 'must be APPEND, PREPEND, or REPLACE')
    .optional()
    .describe(
      'Where the failure goes in the next prompt: after it, before it, or instead of it. Default: APPEND. Alias: `action`.',
    ),
  hint: anyText().optional().describe('Guidance for the agent when the check fails.'),
});

const agent = object({
  name: text()
    .optional()
    .describe('Adapter, if it does not follow from the command: claude, codex, …, custom.'),
  command: text().optional().describe('Program to run as the agent: claude, codex, amp, or any other.'),
  flags: list(anyText(), 'strings')
    .optional()
    .describe(
      'Flags of the agent; a flag with spaces is split into words. They replace the flags that let it work without asking for permission.',
    ),
  model: text().optional().describe('Model of the agent.'),
  promptVia: oneOf(PROMPT_WAYS)
    .optional()
    .describe('How the agent gets the prompt. Default: as its adapter does.'),
  env: object({
    drop: list(
      z.string({ error: 'must be a string' }).regex(VARIABLE, 'must be the name of an environment variable'),
      'names',
    )
      .optional()
      .describe('Environment variables to hide from the agent.'),
  })
    .optional()
    .describe('Environment of the agent.'),
});

const scm = object({
  command: text().optional().describe('Version control program, e.g. git.'),
  tasks: list(text(), 'strings')
    .optional()
    .describe(
      'Tasks to run with it after each iteration whose checks passed, in order. `commit` commits the changes of the loop; the agent writes the message.',
    ),
  timeout: time().optional().describe('Maximum time per task (0 = unlimited). Default: 10m.'),
});

const paths = (): z.ZodType<readonly string[]> => list(text(), 'paths');
const sandbox = object({
  checks: yesOrNo.optional().describe('Also run checks and set-up commands in the sandbox. Default: false.'),
  write: paths()
    .optional()
    .describe('Paths that are writable in addition to the workspace; `~` is the home folder. Default: none.'),
  hide: paths().optional().describe('Paths that are hidden in addition. Default: none.'),
  network: yesOrNo.optional().describe('Access to the network. Default: true.'),
});

const children = object({
  maxDepth: whole(0, 'must be a whole number >= 0')
    .optional()
    .describe('Maximum number of generations of child loops below the first loop (0 = no child loops).'),
  maxActive: whole(0, 'must be a whole number >= 0')
    .optional()
    .describe('Maximum number of child loops of one loop at the same time (0 = no child loops).'),
});

const mcp = object({
  allow: list(oneOf(MCP_CHANGES), 'changes')
    .optional()
    .describe('What assistants may do to loops through `ralph mcp`. Default: nothing; they can only read.'),
});

const notify = object({
  to: text().describe(
    '`env:NAME` (an address in a variable), `desktop`, `terminal`, or `command …`. In your own settings also the address.',
  ),
  name: text().optional().describe('Name in messages and for `ralph notify test --to`.'),
  key: text()
    .optional()
    .describe(
      'Key of the signature of a webhook, or access token of an ntfy server: `env:NAME`. In your own settings also the key.',
    ),
  events: list(oneOf(NOTICE_KINDS), 'kinds of notices')
    .optional()
    .describe('Kinds of notices to send (docs/notices.md). Default: all but `iteration.ended`.'),
  timeout: time().optional().describe('Maximum time of one attempt. Default: 10s, of a command 30s.'),
});

const on = object(
  Object.fromEntries(
    NOTICE_KINDS.map((kind) => [
      kind,
      text().optional().describe(`Shell command, run with a notice of \`${kind}\` (docs/notices.md).`),
    ]),
  ),
);

const SETTINGS: z.ZodType<Settings> = object({
  $schema: z.string({ error: 'must be a string' }).optional().describe('Schema of this file, for editors.'),
  preset: oneOf(PRESET_NAMES)
    .optional()
    .describe('Set of defaults that the other settings override (docs/presets.md).'),
  maxIterations: positive
    .optional()
    .describe('Maximum number of iterations. Alias: `maximumIterations` (document 001).'),
  maxTime: time().optional().describe('Maximum active time of the loop: time in which an owner drives it.'),
  maxFailures: positive.optional().describe('Number of consecutive failed runs after which the loop ends.'),
  maxLimitWaits: whole(0, 'must be a whole number >= 0')
    .optional()
    .describe(
      'Number of waits for a usage limit after which the next usage limit ends the loop (0 = the first one does). Default: unlimited.',
    ),
  maxAttemptsPerItem: positive
    .optional()
    .describe(
      'Number of iterations in which an item of the plan may be the next one; after them it is blocked, and the next one is shown (docs/plans.md). Default: unlimited.',
    ),
  maxUnchanged: whole(0, 'must be a whole number >= 0')
    .optional()
    .describe(
      'Number of consecutive iterations without progress after which the loop ends (0 = unlimited). An iteration makes no progress if its files and check results have occurred together before in this loop; what checks and commits write does not count, and what test runs of the agent write does, unless git ignores it. The prompt mentions it two iterations before.',
    ),
  maxRepeats: whole(0, 'must be a whole number >= 0')
    .optional()
    .describe(
      'In a session (docs/in-session.md): how many times in a row the same answer, without a tool call and without a changed file, ends the loop as stuck (0 = unlimited).',
    ),
  maxCost: z
    .number({ error: 'must be an amount of dollars > 0' })
    .gt(0, 'must be an amount of dollars > 0')
    .optional()
    .describe('Maximum cost of the loop, in dollars.'),
  maxTokens: positive.optional().describe('Maximum number of tokens that the loop may use.'),
  maxOutput: size.optional().describe('Maximum output of one run, check, set-up command or SCM task.'),
  iterationTimeout: time().optional().describe('Maximum time per run (0 = unlimited).'),
  inactivityTimeout: time().optional().describe('Maximum time that a run may print nothing (0 = unlimited).'),
  restartDelay: time().optional().describe('Delay between two iterations.'),
  killGrace: time().optional().describe('Time that an agent gets to exit before Ralph kills it.'),
  childWait: time()
    .optional()
    .describe(
      'Maximum time that a loop that is done waits for its active children (0 = no wait). Preset `conductor`: 5m.',
    ),
  pollInterval: time().optional().describe('Interval between two looks at these children. Default: 1s.'),
  interactive: yesOrNo
    .optional()
    .describe(
      'Run the agent in a terminal of tmux, as a person would: the command as it is given, and the prompt is pasted. Default: false.',
    ),
  readyTimeout: time()
    .optional()
    .describe('Maximum time until an interactive agent is ready for its prompt; then it gets it anyway.'),
  keepAwake: yesOrNo
    .optional()
    .describe(
      'Keep the machine awake while the loop goes on by itself (docs/background.md). `--no-keep-awake` overrides it.',
    ),
  checkpointMaxFile: size
    .optional()
    .describe('Size above which a file that git does not track is left out of checkpoints and commits.'),
  checkpointMaxTotal: size
    .optional()
    .describe(
      'Size of all files together that git does not track, above which the largest of them are left out of checkpoints and commits.',
    ),
  completionResponse: text().optional().describe('Completion word in `<response>…</response>`.'),
  completionPromise: text().optional().describe('Completion word in `<promise>…</promise>`.'),
  completionTag: text().optional().describe('Completion word in the final answer, as a whole word.'),
  donePattern: text()
    .optional()
    .describe("Regular expression (Python's syntax) that matches the agent's text when the work is done."),
  doneFile: text().optional().describe('File in the workspace that exists when the work is done.'),
  until: oneOf(UNTILS)
    .optional()
    .describe(
      'What completes the loop: `checks` (all checks pass), `claim` (the agent claims completion), or `both`. Default: `both` with checks, `claim` without.',
    ),
  checks: list(check, 'checks')
    .optional()
    .describe('Checks, run in this order after each iteration. Alias: `guardrails` (document 001).'),
  checkTimeout: time().optional().describe('Maximum time per check (0 = unlimited).'),
  plan: z
    .union([text(), z.literal(false)], { error: 'must be the path of a plan, or false' })
    .optional()
    .describe(
      'Plan in the workspace: a Markdown checklist or a prd.json (docs/plans.md). Its open items are a check, and the prompt shows the next one. Default: false.',
    ),
  baseline: yesOrNo
    .optional()
    .describe(
      'Run the checks once before the first iteration, to report which failed before the loop. Default in `ralph loop`: true.',
    ),
  protect: list(text(), 'globs')
    .optional()
    .describe(
      'Globs, relative to the workspace, of files that the agent must not change, e.g. `test/**`, `check.sh`. Files that did not exist when the loop started do not count. Needs git.',
    ),
  onProtectedChange: oneOf(ON_PROTECTED_CHANGE)
    .optional()
    .describe(
      'What happens when the agent changes or deletes a protected file: `warn` (the reports and the next prompt say so), `reject` (claims to be done are rejected too), or `restore` (the file is put back before the checks run). Default: `warn`.',
    ),
  outputTruncateChars: positive
    .optional()
    .describe(
      "Maximum number of characters of a failed check's output in the prompt. Its log below `.ralph/` has all of it, up to 64 MiB.",
    ),
  includeIterationCountInPrompt: yesOrNo
    .optional()
    .describe('Start every prompt with `Iteration X of Y, Z remaining.`'),
  agent: agent.optional().describe('The agent.'),
  scm: scm.optional().describe('Version control tasks after an iteration.'),
  worktree: yesOrNo
    .optional()
    .describe(
      'Run the loop in its own git worktree, on its own branch. Without `scm.tasks` Ralph commits every iteration whose checks passed there, with the task as the message.',
    ),
  sandbox: z
    .union([yesOrNo, sandbox], { error: 'must be true, false or an object' })
    .optional()
    .describe(
      'Run the agent in a sandbox (docs/sandbox.md): it can write only the workspace and its own files. An object switches it on with options.',
    ),
  children: children
    .optional()
    .describe('Limits on the child loops that the agent starts (docs/children-and-bus.md).'),
  setup: list(text(), 'strings')
    .optional()
    .describe('Shell commands, run once in a new worktree before the first iteration, e.g. `npm ci`.'),
  setupTimeout: time().optional().describe('Maximum time per set-up command (0 = unlimited).'),
  streamAgentOutput: yesOrNo.optional().describe('Show the output of the agent.'),
  emoji: yesOrNo.optional().describe('Show emoji: always (true) or never (false).'),
  timestamps: yesOrNo.optional().describe('Start every line with the time.'),
  outputLines: whole(0, 'must be a whole number >= 0')
    .optional()
    .describe("Maximum number of lines shown of a tool's output."),
  outputChars: whole(0, 'must be a whole number >= 0')
    .optional()
    .describe('Maximum number of characters shown of each of these lines.'),
  notify: list(
    z.union([text(), notify], { error: 'must be a string or an object' }),
    'places that notices are sent to',
  )
    .optional()
    .describe(
      'Where notices are sent: `env:NAME`, `desktop`, `terminal`, `command …`, or objects (docs/notices.md). Adds to your own settings.',
    ),
  on: on.optional().describe('Commands, run beside the loop when something has happened.'),
  mcp: mcp.optional().describe('The MCP server (docs/mcp.md).'),
});

/** `checks[0].command`. */
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

/** The known keys of the object at this path. */
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
  if (schema instanceof z.ZodOptional) return unwrapped(schema.unwrap());
  // `sandbox` is a boolean or an object.
  return schema instanceof z.ZodUnion
    ? (schema.options.find((option) => option instanceof z.ZodObject) ?? schema)
    : schema;
}
