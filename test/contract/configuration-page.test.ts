import { expect, it } from 'vitest';
import { sizeSetting } from '../../src/loop/counted.ts';
import { NOTICE_KINDS } from '../../src/loop/notice.ts';
import { FAIL_ACTIONS, ON_PROTECTED_CHANGE, PRESET_NAMES, UNTILS } from '../../src/loop/policy.ts';
import { presets } from '../../src/loop/presets.ts';
import { OUTSIDE_POLICY, settingsOf } from '../../src/settings/policy.ts';
import { jsonSchema } from '../../src/settings/schema.ts';
import { FLAGS } from '../../src/settings/settings.ts';
import { type Kinds, PROMPT_WAYS, type Row, sentences, VALUES } from '../../src/settings/rows.ts';

it('settings.schema.json is the schema as JSON', async () => {
  await expect(`${JSON.stringify(jsonSchema(), null, 2)}\n`).toMatchFileSnapshot(
    '../../settings.schema.json',
  );
});

it('docs/configuration.md lists every setting', async () => {
  await expect(page()).toMatchFileSnapshot('../../docs/configuration.md');
});

function page(): string {
  const defaults = { ...OUTSIDE_POLICY, ...settingsOf(presets.default.policy) };
  const rows = [...VALUES].map(([path, row]) => {
    const flag = FLAGS[path];
    const byDefault = row.byDefault ?? shown(row, defaults[path] ?? row.default ?? null);
    return `| \`${path}\` | ${typeOf(row)} | ${byDefault} | ${flag === undefined ? '' : `\`${flag}\``} | ${sentences(row)} |`;
  });
  return [
    '<!-- Made by `npm run docs` from src/settings/table.ts. Do not edit. -->',
    '',
    '# Configuration',
    '',
    ...INTRODUCTION,
    '',
    '| setting | type | default | option | meaning |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}

const INTRODUCTION =
  `Put a repository's defaults in \`.ralph/settings.json\`, which the team shares (git ignores everything else in \`.ralph/\`).
\`.ralph/settings.local.json\` overrides it and is not committed. Command-line options override both. \`ralph init\` writes the
file; \`ralph config\` shows the values in effect, each with the file and line, preset or option that it comes from.

\`\`\`json
{
  "maxIterations": 20,
  "maxCost": 5,
  "agent": { "command": "claude", "model": "opus" },
  "checks": ["npm test", { "command": "npm run lint", "hint": "Fix the code, not the rules." }],
  "scm": { "command": "git", "tasks": ["commit"] }
}
\`\`\`

- The local file overrides numbers, strings and lists of the shared file; objects are merged key by key.
- Unknown keys are errors; the message suggests the closest known key. The message for an invalid value names its file and
  line. In both cases nothing starts, and the exit code is 2.
- In the shared file \`0\` and \`""\` for \`maxIterations\`, \`completionResponse\`, \`outputTruncateChars\` and \`agent.command\` mean
  the default; in the local file they are errors.
- A loop keeps the settings that it started with; \`ralph set\` and \`ralph resume\` change its limits.
- The \`agent\` settings apply to the agent that they name. With \`--agent\` for another one, or a command after \`--\`, only
  \`agent.env.drop\` still applies. \`--check\` replaces all \`checks\`.
- \`$XDG_CONFIG_HOME/ralph/settings.json\` (\`~/.config/ralph/settings.json\`) has your own settings for all workspaces. It
  can have only \`sandbox\`, which a repository's settings cannot weaken ([sandbox.md](sandbox.md)), \`mcp\` ([mcp.md](mcp.md)),
  \`notify\` and \`on\`, also with addresses and keys ([notices.md](notices.md)), and \`children.unrelated\`, which takes loops started with \`--no-child\` out of the budget of the loop whose run starts them
  ([children-and-bus.md](children-and-bus.md#one-budget)).
- The other presets have other defaults ([presets.md](presets.md)). Without a \`preset\` in any file or on the command line, a file
  with \`maximumIterations\` or \`guardrails\`, the names of document 001, chooses \`ralph-cli\`, and Ralph says so.
- Do not put secrets here: write \`$NAME\` in a check, and set the variable in the environment.

## Trust

Settings name programs that Ralph runs, so a repository that you have cloned could run anything. Ralph therefore uses the
settings files of a workspace only with your consent.

- \`ralph run\` and \`ralph loop\` show what the settings would run, and ask. The default answer is no, and exits 2. Without a
  terminal on stdin and stdout, with \`CI\` set, or with \`--json\`, they do not ask and exit 2.
- Ralph keeps the consent for this workspace (its real path) and this content, in \`trust/\` of its state folder. After a
  change it shows the difference and asks again. Layout, order of keys, second names (unless they choose a preset) and settings of the display
  (\`emoji\`, \`timestamps\`, \`outputLines\`, \`outputChars\`, \`streamAgentOutput\`) do not count as a change.
- Consent is for the whole file, even if the command line replaces some of its values. A file that only has settings of the
  display needs none, and neither does the command line: \`--check\`, \`ralph loop -c FILE\`, a command after \`--\`.
- The question shows every value in full; a run of 10 or more blanks is counted instead (\`[3,000 blanks]\`). A value of more than 2,000
  characters, or more than 100 values or 10,000 characters, are cut. Then Ralph does not ask, because you could not see what you
  agree to: it names what to read in the file, and exits 2.
- \`ralph trust\` trusts the files as they are without a question, \`ralph trust --show\` prints them in full,
  \`ralph trust --revoke\` takes all consent for the workspace back. \`ralph config\` and \`ralph doctor\` say whether they are
  trusted. What \`ralph init\` writes is trusted.
- \`--trust\` and \`RALPH_TRUST=1\` give the same consent as an answer of yes. Ralph does not pass the variable on to agents and
  checks, and an agent that calls Ralph cannot trust anything. It can start loops with the settings that you trust.
- A loop keeps what it was created with: \`ralph resume\`, \`ralph worktree merge\` and loops in the background do not ask. The
  library reads no settings files.
- Consent is to these texts, not to what they call: if you trust \`npm test\`, you trust package.json.
- A settings file must be a regular file in a real folder \`.ralph\`, not a symbolic link. With a state folder inside the
  workspace, Ralph asks for every loop, because a repository could contain such a folder.
- \`doneFile\` must be in the workspace.

## Settings

Times are numbers of seconds, or strings such as \`"90s"\`, \`"15m"\`, \`"2h"\`. Sizes are numbers of bytes, or strings such as
\`"500k"\`, \`"20m"\`, \`"1g"\`.`.split('\n');

/** What people call the types; the other types have their own names. */
const TYPES: Readonly<Partial<Record<keyof Kinds, string>>> = {
  'any-text': 'text',
  timeout: 'time',
  variable: 'name of a variable',
  'file-or-false': 'file, or `false`',
  whole: 'number',
  count: 'number',
  iterations: 'number',
  amount: 'dollars',
  'yes-no': '`true` or `false`',
  preset: choices(PRESET_NAMES),
  until: choices(UNTILS),
  'protected-change': choices(ON_PROTECTED_CHANGE),
  'fail-action': choices(FAIL_ACTIONS),
  'prompt-way': choices(PROMPT_WAYS),
  'notice-commands': `object with ${choices(NOTICE_KINDS)}`,
};

/** Where the policy has null, there is no limit. */
const LIMITED: ReadonlySet<keyof Kinds> = new Set([
  'whole',
  'count',
  'iterations',
  'amount',
  'time',
  'timeout',
  'size',
]);

function choices(values: readonly string[]): string {
  return values.map((value) => `\`${value}\``).join(', ');
}

function typeOf({ type, list, parts, short }: Row): string {
  if (list !== undefined) return `list of ${list}`;
  const own = type === undefined ? [] : [TYPES[type] ?? type];
  return [...own, ...(parts === undefined || short !== undefined ? [] : ['object'])].join(' or ');
}

function shown({ type = 'text' }: Row, value: unknown): string {
  if (value === null && LIMITED.has(type)) return 'unlimited';
  if (value === null || (Array.isArray(value) && value.length === 0)) return '–';
  return `\`${type === 'size' ? sizeSetting(Number(value)) : JSON.stringify(value).replaceAll('"', '')}\``;
}
