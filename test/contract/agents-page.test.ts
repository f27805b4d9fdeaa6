import { expect, it } from 'vitest';
import { ALL_AGENTS } from '../../src/agents/agents.ts';
import { faultsSection } from './faults-section.ts';

it('docs/agents.md describes every agent', async () => {
  await expect(page()).toMatchFileSnapshot('../../docs/agents.md');
});

function page(): string {
  const known = ALL_AGENTS.flatMap(({ name, call, reports }) =>
    call === null ? [] : [{ name, call, reports }],
  );
  return [
    '<!-- Made by `npm run docs` from src/agents/. Do not edit. -->',
    '',
    '# The agents',
    '',
    '`--agent NAME` selects one of these. A command after `--` is recognised by the name of its program. `ralph agents` shows',
    'which are installed; `ralph doctor` tests them without calling a model.',
    '',
    '| agent | install with | tested version | called as | reports | API keys |',
    '| --- | --- | --- | --- | --- | --- |',
    ...known.map(({ name, call, reports }) => {
      const line = [
        call.command,
        ...call.args({ output: 'stream', flags: call.autonomous, prompt: null, folder: '<run>' }),
      ];
      const told = reports === 'cost' ? 'cost and tokens' : 'tokens';
      const keys = call.credentials.map((key) => `\`${key}\``).join(', ');
      return `| \`${name}\` | \`${call.install}\` | ${call.triedVersion} | \`${line.join(' ')}\` | ${told} | ${keys} |`;
    }),
    '| `custom` | | | the command after `--`, unchanged | nothing | |',
    '| `scripted` | | | the same, for a program that prints `AgentEvent` objects, one JSON object per line | what it prints | |',
    '',
    ...HOW_IT_WORKS,
  ].join('\n');
}

const HOW_IT_WORKS = [
  '## Permissions and prompts',
  '',
  'If you give only the name (`--agent claude`, or `-- claude`), Ralph adds the flags above, which turn permission prompts',
  'off: an unattended loop has no one to answer them. `--verbose` shows the flags, and `spec.json` contains them. Your own',
  'flags (`-- claude --allowedTools Edit`) replace the flags that grant permissions; Ralph still adds the flags that make the',
  'agent headless and its output readable. If the agent is denied a tool, the loop ends and the report says how to fix it,',
  'unless the work gets done without the tool.',
  '',
  'Ralph passes the prompt on stdin, so it can have any length. `--prompt-via file` passes the name of a file instead, and',
  '`--prompt-via argument` passes the text itself if it is shorter than 100 KiB. No shell ever sees the prompt, and a known',
  'agent does not take one that begins with `-` for an option. A `custom` command gets it unchanged.',
  '`--env KEY=VALUE` adds a variable to the environment, `--drop-env KEY` removes one. The preset `conductor` hides the API',
  'keys of other agents.',
  '',
  'The settings ([configuration.md](configuration.md)) `agent.command`, `agent.flags`, `agent.model`, `agent.promptVia` and',
  '`agent.env.drop` set the same values; the command line overrides them. Without `agent.flags` permission prompts are off.',
  'The preset `ralph-cli` calls claude, codex and amp with exactly the flags of its document, and passes the prompt to any',
  'other command as the last argument. A codex that has dropped `--full-auto` gets what that flag meant, `--sandbox',
  'workspace-write` (with `--skip-git-repo-check`): it can write only in the workspace and has no network. If a flag of yours',
  'decides what the agent may do (`--sandbox read-only`), Ralph leaves out the flags of the document that do the same.',
  '',
  '## When a run succeeds',
  '',
  'A run succeeds if its stream reports success. The exit code alone is not enough, since several agents exit with 0 after',
  'an error. Only an agent without a stream (`custom`) is judged by its exit code.',
  '',
  '| the stream reports | Ralph |',
  '| --- | --- |',
  '| success | runs the checks and judges the claim |',
  '| a usage limit | waits for the reset: the time in a field, else the time in the text (with its time zone), else 1, 5, 15, 30, 60 minutes; charges nothing; ends the loop at once if the reset comes after `--max-time`; after `--max-limit-waits` such waits (default: unlimited) the next limit ends it; other loops of the same account wait too; `ralph resume NAME --now` retries at once |',
  '| overload, a server error, no connection, a broken stream, a page of a captive portal | retries after 1, 2, 4 … 300 seconds, for about a day (300 times); charges nothing (`--max-time` bounds it) |',
  '| its start and nothing else, up to the inactivity timeout | retries in the same way, at most five times in a row; charges nothing |',
  '| an authentication error, missing credit, a proxy that blocks the provider, an unknown model, a denied tool | ends the loop at once and says how to fix it |',
  '| that the provider refuses the request, for example because the prompt is too long | counts a failed iteration; ends the loop (exit code 3) if the provider refuses the same prompt again; advises smaller steps if the agent has filled its context in the middle of a run |',
  '| anything else, or no result | counts a failed iteration; five consecutive failures end the loop |',
  '',
  'Ralph takes a usage limit only from what the CLI itself reports, never from what the agent says or reads. It counts and',
  'skips lines that the adapter does not know; `runs/<n>/stdout.log` always has the whole stream.',
  '',
  ...faultsSection(),
  '## Cost',
  '',
  'If the agent reports its cost, Ralph uses that and labels it `reported`. Otherwise it multiplies the tokens by the list',
  'prices of `@pydantic/genai-prices` and labels the cost `estimated`. Otherwise the cost is unknown. `--max-cost` and',
  '`--max-tokens` end the loop before the next run, and end a running agent as soon as its stream exceeds them. Ralph refuses',
  'a limit that it cannot enforce: a `custom` command reports nothing, and an agent that reports only tokens needs `--model`,',
  'so that their price is known.',
  '',
  'When 80 % of a limit of cost, tokens or time is used, the loop says so once, also in the middle of a run: on the screen, in',
  '`ralph story`, in `iterations.log` and as `limit.neared` in the journal. `ralph set NAME max-cost=20` raises the limit of a running',
  'loop; of the higher limit the loop says it again. The status line and `ralph ls` show what is used of the limit on cost, `ralph status`',
  'of all three, and in `--json` as `limits`.',
  '',
  'A stream may report usage late: claude, codex and gemini have the totals only in its last line, which a run that is stopped does',
  'not print. Ralph reads what they record of each answer in the files of their session, during the run and at its end: claude in',
  '`projects/` of `$CLAUDE_CONFIG_DIR` (or `~/.claude`), its subagents included, codex in `$CODEX_HOME/sessions`, gemini in',
  '`~/.gemini/tmp`. The totals of a complete stream win, and no sum is less than the stream says. An answer that is under way when a',
  'run is stopped is not recorded, nor are the requests with which gemini looks for loops in a long run. Without a file (an agent in a',
  'container, `--no-session-persistence`) the output of claude is estimated from its text, and every sum with it says',
  '`output estimated`.',
  '',
  'If the usage of a run stays unknown, it counts towards a limit like the most expensive run of the loop whose usage is known. A usage limit, an outage and an error that ends the loop are not charged. If no usage is known,',
  'a limited loop ends after two such runs; `ralph resume NAME` allows two more. Every sum that leaves out a run says so:',
  '`$0.0123 reported (plus 2 runs of unknown cost)`, and in JSON `runsOfUnknownCost` and `runsOfUnknownTokens`. A sum of',
  'which nothing is known is `unknown`, in JSON `null`.',
  '',
  'The agent is asked for a commit message with the same flags as for its work, so that its usage counts. Only the preset',
  '`ralph-cli` asks claude, codex and amp for plain text, as its document says: of those, only the usage of codex is known.',
  '',
];
