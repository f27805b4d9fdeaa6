import { expect, it } from 'vitest';
import { settingsOf } from '../../src/settings/policy.ts';
import { jsonSchema } from '../../src/settings/schema.ts';
import { FLAGS } from '../../src/settings/settings.ts';
import { presets } from '../../src/loop/presets.ts';

it('settings.schema.json is the schema as JSON', async () => {
  await expect(`${JSON.stringify(jsonSchema(), null, 2)}\n`).toMatchFileSnapshot(
    '../../settings.schema.json',
  );
});

it('docs/configuration.md lists every setting', async () => {
  await expect(page()).toMatchFileSnapshot('../../docs/configuration.md');
});

function page(): string {
  const defaults = settingsOf(presets.default.policy);
  const rows = settingsIn(jsonSchema()).map(({ key, type, description }) => {
    const flag = FLAGS[key];
    const byDefault = shown(OTHER_DEFAULTS[key] ?? defaults[key] ?? null);
    return `| \`${key}\` | ${type} | ${byDefault} | ${flag === undefined ? '' : `\`${flag}\``} | ${description} |`;
  });
  return [
    '<!-- Made by `npm run docs` from src/settings/schema.ts. Do not edit. -->',
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
  "checks": [
    { "command": "npm test", "failAction": "APPEND", "hint": "Fix the code, not the tests." }
  ],
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

const OTHER_DEFAULTS: Readonly<Record<string, unknown>> = {
  until: 'both with checks, claim without',
  worktree: false,
  'sandbox.checks': false,
  'sandbox.network': true,
  streamAgentOutput: true,
  emoji: 'if the terminal supports it',
  timestamps: false,
  outputLines: 3,
  outputChars: 120,
  'mcp.allow': [],
  'scm.timeout': '10m',
  'checks[].failAction': 'APPEND',
};

interface Described {
  readonly key: string;
  readonly type: string;
  readonly description: string;
}

/** Every key of a schema, including those of nested objects and lists. */
function settingsIn(schema: unknown, path = ''): readonly Described[] {
  const properties = part(schema, 'properties');
  if (typeof properties !== 'object' || properties === null) return [];
  return Object.entries(properties).flatMap(([name, one]: [string, unknown]) => {
    // The description of the setting names its alias.
    if (part(one, 'deprecated') === true) return [];
    const key = path === '' ? name : `${path}.${name}`;
    const items = part(one, 'items');
    const forms: unknown = part(one, 'anyOf');
    const shapes: readonly unknown[] = Array.isArray(forms) ? forms : [one];
    const inner = shapes.flatMap((shape) => settingsIn(shape, key)).concat(settingsIn(items, `${key}[]`));
    const isObject = part(one, 'type') === 'object';
    return [
      ...(isObject ? [] : [{ key, type: typeOf(one), description: String(part(one, 'description')) }]),
      ...inner,
    ];
  });
}

function typeOf(schema: unknown): string {
  const values = part(schema, 'enum');
  if (Array.isArray(values)) return values.map((value) => `\`${String(value)}\``).join(', ');
  const forms = part(schema, 'anyOf');
  if (Array.isArray(forms))
    return forms.some((form) => part(form, 'type') === 'object') ? 'boolean or object' : 'number or string';
  const type = part(schema, 'type');
  if (type === 'array') return 'list';
  if (type === 'string') return 'string';
  return String(type);
}

function part(schema: unknown, key: string): unknown {
  return typeof schema === 'object' && schema !== null ? Reflect.get(schema, key) : undefined;
}

function shown(value: unknown): string {
  if (value === null || (Array.isArray(value) && value.length === 0)) return '–';
  return typeof value === 'string' && value.includes(' ')
    ? value
    : `\`${JSON.stringify(value).replaceAll('"', '')}\``;
}
