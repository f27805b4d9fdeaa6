import { expect, it } from 'vitest';
import { settingsOf } from '../../src/config/policy.ts';
import { jsonSchema } from '../../src/config/schema.ts';
import { FLAGS } from '../../src/config/config.ts';
import { presets } from '../../src/loop/presets.ts';

it('settings.schema.json is the schema, for editors', async () => {
  await expect(`${JSON.stringify(jsonSchema(), null, 2)}\n`).toMatchFileSnapshot(
    '../../settings.schema.json',
  );
});

it('docs/configuration.md tells of every setting as it is', async () => {
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
    '<!-- Made by `npm run docs` from src/config/schema.ts. Do not edit. -->',
    '',
    '# Configuration',
    '',
    ...INTRODUCTION,
    '',
    '| setting | type | default | option | what it is |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}

const INTRODUCTION =
  `What is always so in a repository stands in \`.ralph/settings.json\`, which a team shares (everything else in \`.ralph/\` is
ignored by git); \`.ralph/settings.local.json\` comes over it and is yours alone; options of the command line come over both.
\`ralph init\` writes the file, \`ralph config\` shows what holds and the file and line, preset or option that each value
comes from.

\`\`\`json
{
  "$schema": "https://unpkg.com/ralph-loop/settings.schema.json",
  "maxIterations": 20,
  "maxCost": 5,
  "agent": { "command": "claude", "model": "opus" },
  "checks": [
    { "command": "npm test", "failAction": "APPEND", "hint": "Fix the code, not the tests." }
  ],
  "scm": { "command": "git", "tasks": ["commit"] }
}
\`\`\`

- A number, text or list in the local file takes the place of the shared one; objects are merged key by key.
- A key that nobody knows is an error, with the one that was probably meant; a wrong value is told with its file and line.
  Nothing is begun then, and the exit code is 2.
- In the shared file \`0\` and \`""\` for \`maxIterations\`, \`completionResponse\`, \`outputTruncateChars\` and
  \`agent.command\` mean the default; in the local file they are refused.
- A loop keeps the settings that it began with; \`ralph set\` and \`ralph resume\` change its limits.
- \`agent\` speaks of the agent that it names: with \`--agent\` for another one, or a command behind \`--\`, only
  \`agent.env.drop\` still holds. \`--check\` takes the place of all \`checks\`.
- The other presets have other defaults ([presets.md](presets.md)).
- Secrets do not belong here: write \`$NAME\` in a check, and let the environment have the value.

A time is a number of seconds or a text such as \`"90s"\`, \`"15m"\`, \`"2h"\`; a size a number of bytes or \`"500k"\`, \`"20m"\`, \`"1g"\`.`.split(
    '\n',
  );

const OTHER_DEFAULTS: Readonly<Record<string, unknown>> = {
  until: 'both with checks, claim without',
  worktree: false,
  streamAgentOutput: true,
  emoji: 'where the terminal has them',
  timestamps: false,
  outputLines: 3,
  outputChars: 120,
  'scm.timeout': '10m',
  'checks[].failAction': 'APPEND',
};

interface Described {
  readonly key: string;
  readonly type: string;
  readonly description: string;
}

/** Every key of a schema, those of objects and lists inside it too. */
function settingsIn(schema: unknown, path = ''): readonly Described[] {
  const properties = part(schema, 'properties');
  if (typeof properties !== 'object' || properties === null) return [];
  return Object.entries(properties).flatMap(([name, one]: [string, unknown]) => {
    // The description of the setting names its alias.
    if (part(one, 'deprecated') === true) return [];
    const key = path === '' ? name : `${path}.${name}`;
    const items = part(one, 'items');
    const inner = [...settingsIn(one, key), ...settingsIn(items, `${key}[]`)];
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
  if (Array.isArray(part(schema, 'anyOf'))) return 'number or text';
  const type = part(schema, 'type');
  if (type === 'array') return 'list';
  if (type === 'string') return 'text';
  return type === 'integer' ? 'whole number' : String(type);
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
