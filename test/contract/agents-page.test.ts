import { expect, it } from 'vitest';
import { AGENTS } from '../../src/agents/agents.ts';

it('docs/agents.md tells of the agents as they are', async () => {
  await expect(page()).toMatchFileSnapshot('../../docs/agents.md');
});

function page(): string {
  const known = AGENTS.flatMap(({ name, call, tells }) => (call === null ? [] : [{ name, call, tells }]));
  return [
    '<!-- Made by `npm run docs` from src/agents/. Do not edit. -->',
    '',
    '# The agents',
    '',
    '`--agent NAME` calls one of these; a command behind `--` whose program has such a name is known by it. `ralph agents`',
    'says which are installed, `ralph doctor` tries them out without any call of a model.',
    '',
    '| agent | install it with | tried with | called as | tells | its keys |',
    '| --- | --- | --- | --- | --- | --- |',
    ...known.map(({ name, call, tells }) => {
      const line = [
        call.command,
        ...call.args({ output: 'stream', flags: call.autonomous, prompt: null, folder: '<run>' }),
      ];
      const told = tells === 'cost' ? 'cost and tokens' : 'tokens';
      const keys = call.credentials.map((key) => `\`${key}\``).join(', ');
      return `| \`${name}\` | \`${call.install}\` | ${call.triedVersion} | \`${line.join(' ')}\` | ${told} | ${keys} |`;
    }),
    '| `custom` | | | the command behind `--`, word for word | nothing | |',
    '| `scripted` | | | the same, for a program that prints events of `AgentEvent`, one JSON object a line | what it says | |',
    '',
    ...HOW_IT_WORKS,
  ].join('\n');
}

const HOW_IT_WORKS = [
  '## Who may do what',
  '',
  'Called by its name alone (`--agent claude`, or `-- claude`), an agent gets the flags above that let it work without',
  'asking: nobody is there to answer at night. They are shown by `--verbose` and stand in `spec.json`. Flags of your own',
  '(`-- claude --allowedTools Edit`) take their place, and then it gets no others that give it power; what makes it headless',
  'and readable is added all the same. A tool that it was refused ends the loop with what to do about it, unless the',
  'work is done without.',
  '',
  'The prompt comes on the standard input, so it may be of any length; `--prompt-via file` gives the name of a file instead,',
  '`--prompt-via argument` the text itself, as long as it has less than 100 KiB. No shell ever sees it. `--env KEY=VALUE` adds to the',
  'environment, `--drop-env KEY` takes away; the preset `conductor` keeps the keys of other agents from it.',
  '',
  'What is always so can stand in the settings ([configuration.md](configuration.md)): `agent.command`, `agent.flags`,',
  '`agent.model`, `agent.promptVia`, `agent.env.drop`. The command line comes before it; without `flags` the agent works',
  'without asking. The preset `ralph-cli` calls claude, codex and amp with the flags of its document, and with nothing more,',
  'and gives any other command its prompt as the last argument.',
  '',
  '## When a run was good',
  '',
  'Its stream says so in so many words; an exit code of 0 alone is nothing where a stream is read, since several of them',
  'exit with 0 after an error. Only an agent without a stream (`custom`) is judged by its exit code.',
  '',
  '| what the stream says | what it means |',
  '| --- | --- |',
  '| success | the checks are run, and a claim is judged |',
  '| a usage limit | wait until it resets: as a field says, else as words say (time zones respected), else 1, 5, 15, 30, 60 minutes; nothing is charged, and other loops of the same account wait too; `ralph resume NAME --now` tries at once |',
  '| overload, a server error, no connection | tried again after 1, 2, 4 … 300 seconds, as long as it takes; nothing is charged (`--max-time` ends it) |',
  '| authentication, an unknown model, a refused tool | the loop ends at once, with the remedy |',
  '| anything else, or the end without a result | a failed iteration; five in a row end the loop |',
  '',
  'A limit is only what the CLI itself reports, never what the agent says or reads. Lines that mean nothing to the adapter',
  'are counted and passed by; the whole stream is always in `runs/<n>/stdout.log`.',
  '',
  '## What it costs',
  '',
  'What the agent reports comes first and is called `reported`; else tokens are counted at the list prices of the table in',
  '`@pydantic/genai-prices` and called `estimated`; else it is unknown. `--max-cost` and `--max-tokens` end the loop before',
  'the next run, and a running agent as soon as its stream shows that they are passed. A limit that cannot be kept is',
  'refused at the start: any command (`custom`) tells nothing, and an agent that tells only tokens needs `--model`, so that',
  'their price is known.',
  '',
];
