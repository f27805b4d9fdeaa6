/** Usage limits, outages, spending limits, and what `ralph run` prints. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { exits } from '../rig/cli/program.ts';
import type { Rig } from '../rig/cli/rig.ts';
import {
  CLAIM,
  finishes,
  inAnHour,
  json,
  limited,
  OVERLOADED,
  says,
  setUpAgents,
  succeeds,
  type AgentRig,
} from './agent-rig.ts';

let agents: AgentRig;
let rig: Rig;
beforeEach(async () => {
  agents = await setUpAgents();
  ({ rig } = agents);
});
afterEach(() => rig.tearDown());

describe('a usage limit', () => {
  it('makes the loop wait, is shown with its reason, survives a crash, and is ignored by resume --now', async () => {
    agents.installs('claude');
    const program = agents.starts('--agent', 'claude', '-m', '1');
    const turn = await rig.nextTurn();
    await turn.prints(limited(inAnHour()));
    await turn.exits(1);
    await program.says('usage limit reached, waiting until');
    const during = await rig.does('status', 'a');
    expect(during.stdout).toMatch(
      /Waiting: usage limit until (?:\S+ )?\S+ \(You’ve hit your limit · resets 5pm \(UTC\)(?:; [\dms ]+ longer than announced: so that loops do not all retry at once)?\)/,
    );
    expect(during.stdout).toContain('Consecutive failures: 0');
    await program.crashes();

    const again = agents.ralph('resume', 'a');
    await again.says('continuing at iteration 1/1');
    expect((await rig.does('status', 'a')).stdout).toContain('Waiting: usage limit until');
    expect((await rig.does('resume', 'a', '--now')).code).toBe(0);
    await finishes(await rig.nextTurn());
    exits(await again.ended, 0);
    const { iteration, failures } = rig.loop('a').state;
    expect({ iteration, failures }).toEqual({ iteration: 1, failures: { consecutive: 0, total: 0 } });
  });

  it('applies to other loops of the same account, but not to another account', async () => {
    agents.installs('claude');
    const first = agents.run('--agent', 'claude');
    const turn = await rig.nextTurn();
    await turn.prints(limited(inAnHour()));
    await turn.exits(1);
    await first.says('usage limit reached');

    const second = agents.ralph('run', 'b', '--name', 'b', '--agent', 'claude');
    await second.says('another loop of this account hit the usage limit');
    expect((await rig.does('status', 'b')).stdout).toContain('Waiting: usage limit until');
    const third = agents.ralph(
      'run',
      'c',
      '--name',
      'c',
      '--agent',
      'claude',
      '--env',
      'ANTHROPIC_API_KEY=other',
    );
    await finishes(await rig.nextTurn());
    exits(await third.ended, 0);

    expect((await rig.does('resume', 'b', '--now')).code).toBe(0);
    await finishes(await rig.nextTurn());
    exits(await second.ended, 0);
    // A run of the account has succeeded, so a new loop does not wait.
    const fourth = agents.ralph('run', 'd', '--name', 'd', '--agent', 'claude');
    await finishes(await rig.nextTurn());
    exits(await fourth.ended, 0);
    await rig.does('stop', 'a', '--now');
    await first.ended;
  });

  it('ends the loop with --max-limit-waits once it has waited that often, and ralph set changes the number', async () => {
    agents.installs('claude');
    const program = agents.run('--agent', 'claude', '--max-limit-waits', '1');
    const turn = await rig.nextTurn();
    await turn.prints(limited(inAnHour()));
    await turn.exits(1);
    await program.says('usage limit reached, waiting until');
    const set = await rig.does('set', 'a', 'max-limit-waits=0');
    expect(set).toMatchObject({ code: 0 });
    exits(await program.ended, 1);
    expect(rig.loop('a').state.outcome).toMatchObject({ type: 'limit-waits-exhausted', waits: 0 });
    expect((await rig.does('status', 'a')).stdout).toContain('the loop waits for none (--max-limit-waits)');
  });

  it('does not apply if the agent only quotes it', async () => {
    agents.installs('claude');
    const program = agents.run('--agent', 'claude');
    const turn = await rig.nextTurn();
    const quote = 'The log says: You’ve hit your usage limit, try again at 8:04 AM.';
    const result = [{ type: 'tool_result', tool_use_id: 't', content: quote }];
    await turn.prints(says(quote) + json({ type: 'user', message: { content: result } }));
    await turn.prints(says(CLAIM, 'm2') + succeeds());
    await turn.exits(0);
    exits(await program.ended, 0);
    expect(rig.loop('a').all('run.ended')[0]).toMatchObject({ as: 'ok' });
  });

  it('is found in the last line of any command that failed', async () => {
    const script =
      'if [ -e seen ]; then echo "<promise>DONE</promise>"; else touch seen; echo "You’ve hit your limit · try again in 1s"; exit 1; fi';
    const program = agents.run('--', ...rig.plain(script));
    exits(await program.ended, 0);
    expect(rig.loop('a').state.iteration).toBe(1);
    expect(
      rig
        .loop('a')
        .all('run.ended')
        .map(({ as }) => as),
    ).toEqual(['usage-limit', 'ok']);
  });
});

describe('a provider that does not answer', () => {
  it('is retried after a wait, which counts neither as an iteration nor as a failure', async () => {
    agents.installs('claude');
    const program = agents.run('--agent', 'claude', '-m', '1', '--max-failures', '1');
    const first = await rig.nextTurn();
    await first.prints(OVERLOADED);
    await first.exits(1);
    await program.says('provider unavailable (API Error: 529 Overloaded), retrying in 1s');
    await finishes(await rig.nextTurn());
    const end = await program.ended;
    exits(end, 0);
    expect(end.stderr).toContain('iterations  1 of 1 (2 runs, 1 provider outage)');
  });
});

describe('a provider that rejects the key', () => {
  it('ends the loop before the agent gives up its own retries', async () => {
    agents.installs('claude');
    const program = agents.run('--agent', 'claude');
    const turn = await rig.nextTurn();
    for (const attempt of [1, 2, 3]) {
      // oxlint-disable-next-line no-await-in-loop -- one try after the other
      await turn.prints(
        json({
          type: 'system',
          subtype: 'api_retry',
          attempt,
          max_retries: 10,
          retry_delay_ms: 500,
          error_status: 401,
          error: 'authentication_failed',
        }),
      );
    }
    const end = await program.ended;
    exits(end, 3);
    expect(end.stderr).toContain('error: 401 authentication failed; log in with: claude /login');
    // Once at the first retry and once as the reason for the end.
    expect(end.stderr.match(/401 authentication failed/g)).toHaveLength(2);
    expect(end.stderr).toContain('rejected by the provider (401 authentication failed): retry 1 of 10');
    expect(end.stderr).not.toContain('unavailable');
  });
});

describe('a spending limit', () => {
  it('ends the loop before the next run, with the command that continues it', async () => {
    agents.installs('claude');
    const program = agents.run('--agent', 'claude', '--max-cost', '0.40');
    const turn = await rig.nextTurn();
    await turn.prints(says('not yet') + succeeds({ result: 'not yet' }));
    await turn.exits(0);
    const end = await program.ended;
    exits(end, 1);
    expect(end.stderr).toContain('cost-exhausted');
    expect(end.stderr).toContain('$0.5000 reported');
    expect(end.stderr).toContain('ralph resume a --max-cost 1');
  });

  it('stops a running agent whose streamed usage exceeds it', async () => {
    agents.installs('claude');
    const program = agents.run('--agent', 'claude', '--max-tokens', '1000');
    const turn = await rig.nextTurn();
    await turn.prints(says('a', 'm1', { input_tokens: 300, output_tokens: 1 }));
    // The same message with newer counts, which replace the older ones.
    await turn.prints(says('b', 'm1', { input_tokens: 300, output_tokens: 100 }));
    await turn.answers();
    await turn.prints(says('c', 'm2', { input_tokens: 900, output_tokens: 1 }));
    const end = await program.ended;
    exits(end, 1);
    expect(end.stderr).toContain('tokens-exhausted');
    expect(rig.loop('a').state.spent.tokens).toMatchObject({ input: 1200, output: 101 });
    expect(turn.heard).toContain('SIGTERM');
  });

  it('uses a cost estimate, shown as such, if the agent reports only tokens', async () => {
    agents.installs('codex');
    const program = agents.run('--agent', 'codex', '--model', 'gpt-5', '--max-cost', '1');
    const turn = await rig.nextTurn();
    await turn.prints(
      json({
        type: 'item.completed',
        item: { id: '1', type: 'agent_message', text: CLAIM },
      }),
    );
    await turn.prints(
      json({
        type: 'turn.completed',
        usage: { input_tokens: 10_000, cached_input_tokens: 4000, output_tokens: 1000 },
      }),
    );
    await turn.exits(0);
    const end = await program.ended;
    exits(end, 0);
    expect(end.stderr).toMatch(
      /cost {8}\$0\.0\d+ estimated, tokens: 6000 in, 1000 out, 4000 cache read, 0 cache write/,
    );
    const status = (await rig.does('status', 'a')).stdout;
    expect(status).toMatch(/Cost: \$0\.0\d+ estimated\nTokens: 6000 in, 1000 out/);
    expect(status).toMatch(/ {2}iteration 1: \$0\.0\d+ estimated, 6000 in, 1000 out, 4000 cache read/);
  });

  it('is rejected with the reason if Ralph cannot enforce it', async () => {
    for (const name of ['codex', 'amp']) agents.installs(name);
    const refused = async (...args: readonly string[]): Promise<string> => {
      const end = await agents.run(...args).ended;
      exits(end, 2);
      return end.stderr;
    };
    const plain = ['--', ...rig.plain('true')];
    expect(await refused('--max-cost', '5', ...plain)).toContain(
      'cannot enforce --max-cost: the agent custom does not report what it uses',
    );
    expect(await refused('--max-tokens', '5', ...plain)).toContain('cannot enforce --max-tokens: ');
    expect(await refused('--max-cost', '5', '--agent', 'codex')).toContain('pass --model');
    expect(await refused('--max-cost', '5', '--agent', 'codex', '--model', 'no-such')).toContain(
      'no price is known for the model "no-such"',
    );
    expect(await refused('--max-cost', '5', '--agent', 'amp')).toContain(
      'amp reports tokens but not their cost',
    );
    expect(await refused('--model', 'x', '--agent', 'amp')).toContain('amp has no option for a model');
    expect(await refused('--max-cost', '-1', '--agent', 'codex')).toContain(
      '--max-cost must be an amount > 0',
    );
    expect(await refused('--env', 'A B=secret', ...plain)).not.toContain('secret');
    expect(await refused('--agent', 'qwen')).toContain(
      'qwen is not installed (looked in PATH); install it with: npm install -g @qwen-code/qwen-code',
    );
  });
});

describe('the output of ralph run', () => {
  it('S2.83 S2.84 S2.85 S2.86 shows a few lines for each tool, the to-do list and a summary', async () => {
    agents.installs('claude');
    const ralphCli = ['--preset', 'ralph-cli', '--completion-promise', 'DONE'];
    const program = agents.run('--agent', 'claude', '--emoji', ...ralphCli);
    const turn = await rig.nextTurn();
    const uses = (name: string, id: string, input: object): string =>
      json({
        type: 'assistant',
        message: { id: `m-${id}`, content: [{ type: 'tool_use', id, name, input }] },
      });
    const gets = (id: string, content: string, isError: boolean): string =>
      json({
        type: 'user',
        message: { content: [{ type: 'tool_result', tool_use_id: id, content, is_error: isError }] },
      });
    await turn.prints(
      uses('Read', '1', { file_path: '/path/to/file.go' }) + gets('1', 'one\ntwo\nthree\nfour', false),
    );
    await turn.prints(uses('Bash', '2', { command: 'exit 3' }) + gets('2', 'exit code 3', true));
    const todos = [
      { content: 'Read', status: 'completed' },
      { content: 'Write', status: 'in_progress' },
    ];
    await turn.prints(uses('TodoWrite', '3', { todos }));
    await turn.prints(says(CLAIM, 'm9') + succeeds({ usage: { input_tokens: 2500, output_tokens: 45 } }));
    await turn.exits(0);
    const end = await program.ended;
    exits(end, 0);
    expect(end.stdout).toBe(`${CLAIM}\n`);
    expect(end.stderr).toContain(
      '⏺ Read(/path/to/file.go)\n✅ Result ← Read (4 lines, 18 chars)\n  ⎿  one\n     two\n     three\n  ⎿  ... 1 more lines\n',
    );
    expect(end.stderr).toContain('⏺ Bash(exit 3)\n❌ Error ← Bash (1 line, 11 chars)\n  ⎿  exit code 3\n');
    expect(end.stderr).toContain(
      '\n📋 Todo List\n  ✅ Read\n  🔄 Write ← ACTIVE\n  📊 Progress: 1/2 (50%) | 1 active, 0 pending\n',
    );
    expect(end.stderr).toMatch(
      /✅ Complete \(cost: \$0\.50, tokens: 2K in \/ 45 out, tools: 2, errors: 1, time: \ds\)\n/,
    );
    expect(end.stdout + end.stderr).not.toContain('\u001B');
    const logs = (await rig.does('logs', 'a')).stdout;
    expect(logs).toContain('> Read(/path/to/file.go)\n[OK] Result ← Read (4 lines, 18 chars)\n  |  one\n');
    expect(logs).toContain('<promise>DONE</promise>\n[OK] Complete (cost: $0.50');
    expect((await rig.does('logs', 'a', '--raw')).stdout).toBe(
      rig.loop('a').read('runs', '0001', 'stdout.log'),
    );
  });

  it('S2.10 has nothing from the agent with --no-stream-agent-output, and a claim still counts', async () => {
    agents.installs('claude');
    const program = agents.run('--agent', 'claude', '--no-stream-agent-output');
    const turn = await rig.nextTurn();
    await finishes(turn);
    const end = await program.ended;
    exits(end, 0);
    expect(end.stdout).toBe('');
    expect(end.stderr).not.toContain('Complete (');
  });
});
