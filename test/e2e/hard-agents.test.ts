/** Behaviour of agents, providers and users that is easy to misread. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { exits } from '../rig/cli/program.ts';
import type { Rig } from '../rig/cli/rig.ts';
import { CLAIM, finishes, json, says, setUpAgents, succeeds, type AgentRig } from './agent-rig.ts';

let agents: AgentRig;
let rig: Rig;
beforeEach(async () => {
  agents = await setUpAgents();
  ({ rig } = agents);
});
afterEach(() => rig.tearDown());

const usageSinceLastResult = (inputTokens: number, costUSD: number): object => ({
  model_usage_since_last_result: { 'claude-opus-4-5': { inputTokens, outputTokens: 10, costUSD } },
});

describe('a run with several results', () => {
  it('costs the sum of all results', async () => {
    agents.installs('claude');
    const program = agents.run('--agent', 'claude');
    const turn = await rig.nextTurn();
    await turn.prints(says('one', 'm1', { input_tokens: 90, output_tokens: 1 }));
    await turn.prints(succeeds({ result: 'one', ...usageSinceLastResult(100, 0.25) }));
    await turn.prints(
      says(CLAIM, 'm2', { input_tokens: 290, output_tokens: 1 }) + succeeds(usageSinceLastResult(300, 0.5)),
    );
    await turn.exits(0);
    exits(await program.ended, 0);
    const { usd, tokens } = rig.loop('a').state.spent;
    expect({ usd, input: tokens.input, output: tokens.output }).toEqual({
      usd: 0.75,
      input: 400,
      output: 20,
    });
  });

  it('is not over while it has background tasks', async () => {
    agents.installs('claude');
    const program = agents.run('--agent', 'claude', '--kill-grace', '100ms');
    const turn = await rig.nextTurn();
    const tasks = (...left: readonly object[]): string =>
      json({ type: 'system', subtype: 'background_tasks_changed', tasks: left });
    await turn.prints(
      tasks({ id: 'b1' }) +
        says('started') +
        succeeds({ result: 'started', ...usageSinceLastResult(100, 0.25) }),
    );
    await rig.loop('a').journals('run.output', ({ cost }) => cost?.usd === 0.25);
    // Longer than --kill-grace, after which Ralph stops an agent that has finished.
    await new Promise((resolve) => {
      setTimeout(resolve, 300);
    });
    await turn.answers();
    await turn.prints(tasks() + says(CLAIM, 'm2') + succeeds(usageSinceLastResult(200, 0.25)));
    await turn.exits(0);
    exits(await program.ended, 0);
    expect(turn.heard).toEqual([]);
  });
});

describe('a denied tool', () => {
  it('does not end the loop if the agent could use another tool', async () => {
    agents.installs('claude');
    const program = agents.run('--agent', 'claude', '-m', '1');
    const turn = await rig.nextTurn();
    const use = { type: 'tool_use', id: 't', name: 'Bash', input: { command: 'ls' } };
    await turn.prints(json({ type: 'assistant', message: { id: 'm1', content: [use] } }));
    await turn.prints(
      json({ type: 'user', message: { content: [{ type: 'tool_result', tool_use_id: 't', content: 'x' }] } }),
    );
    await turn.prints(succeeds({ result: 'on we go', permission_denials: [{ tool_name: 'Read' }] }));
    await turn.exits(0);
    exits(await program.ended, 1);
    expect(rig.loop('a').all('run.ended')[0]).toMatchObject({ as: 'ok' });
  });
});

describe('the text of a subagent', () => {
  it('is not a claim', async () => {
    agents.installs('copilot');
    const program = agents.run(
      '--agent',
      'copilot',
      '-m',
      '1',
      '--preset',
      'promise',
      '--completion-promise',
      'DONE',
    );
    const turn = await rig.nextTurn();
    const subagentMessage = { messageId: 'h', content: CLAIM, parentToolCallId: 'call_1' };
    await turn.prints(json({ type: 'assistant.message', data: { messageId: 'm', content: 'not yet' } }));
    await turn.prints(json({ type: 'assistant.message', data: subagentMessage, agentId: 'x' }));
    await turn.prints(json({ type: 'subagent.completed', data: {} }) + json({ type: 'result', exitCode: 0 }));
    await turn.exits(0);
    exits(await program.ended, 1);
    expect(rig.loop('a').all('claim.made')).toEqual([]);
  });
});

describe('text that looks like a usage limit', () => {
  it.each([
    ['a full disk', 'echo "cp: cannot create file: Disk quota exceeded" >&2; exit 1'],
    ['a test about quotas', 'echo "FAIL: returns 429 when quota exceeded"; exit 1'],
    ['a limit before the last line', 'echo "You’ve hit your limit · resets 5pm (UTC)"; echo bye; exit 1'],
  ])('is an ordinary failure: %s', async (_, script) => {
    const program = agents.run('-m', '1', '--', ...rig.plain(script));
    exits(await program.ended, 1);
    expect(rig.loop('a').all('run.ended')[0]).toMatchObject({ as: 'failure' });
  });

  it('on stderr does not override the error in the stream', async () => {
    agents.installs('claude');
    const program = agents.run('--agent', 'claude');
    const turn = await rig.nextTurn();
    await turn.complains('You exceeded your current quota. Retrying...\n');
    await turn.prints(
      json({ type: 'result', subtype: 'success', is_error: true, api_error_status: 401, result: 'no' }),
    );
    await turn.exits(1);
    exits(await program.ended, 3);
    expect(rig.loop('a').all('run.ended')[0]).toMatchObject({ as: 'fatal' });
  });
});

describe('a usage limit of an account', () => {
  const limit = (): string =>
    json({
      type: 'rate_limit_event',
      rate_limit_info: {
        status: 'rejected',
        resetsAt: Math.floor(Date.now() / 1000) + 3600,
        rateLimitType: 'five_hour',
      },
    }) +
    json({
      type: 'result',
      subtype: 'success',
      is_error: true,
      result: 'usage limit reached for sk-own-secret-key',
    });

  it('is ignored by resume --now after a stop, and is stored without the API key', async () => {
    agents.installs('claude');
    agents.env = { ...agents.env, ANTHROPIC_API_KEY: 'sk-own-secret-key' };
    const program = agents.starts('--agent', 'claude');
    const turn = await rig.nextTurn();
    await turn.prints(limit());
    await turn.exits(1);
    await program.says('usage limit reached');
    program.signal('SIGINT');
    exits(await program.ended, 130);
    const shared = join(rig.folder, 'state', 'ralph', 'limits');
    const [file = ''] = readdirSync(shared);
    expect(statSync(join(shared, file)).mode & 0o777).toBe(0o600);
    for (const text of [readFileSync(join(shared, file), 'utf8'), rig.loop('a').read('journal.jsonl')]) {
      expect(text).toContain('usage limit reached for <redacted>');
      expect(text).not.toContain('sk-own-secret-key');
    }
    const again = agents.ralph('resume', 'a', '--now');
    await finishes(await rig.nextTurn());
    exits(await again.ended, 0);
  });

  it('does not apply to another account, such as another CLAUDE_CONFIG_DIR', async () => {
    agents.installs('claude');
    const program = agents.run('--agent', 'claude', '--env', 'CLAUDE_CONFIG_DIR=/one');
    const turn = await rig.nextTurn();
    await turn.prints(limit());
    await turn.exits(1);
    await program.says('usage limit reached');
    const other = agents.ralph(
      'run',
      'x',
      '--name',
      'b',
      '--agent',
      'claude',
      '--env',
      'CLAUDE_CONFIG_DIR=/two',
    );
    await finishes(await rig.nextTurn());
    exits(await other.ended, 0);
    expect(rig.loop('b').all('limit.shared')).toEqual([]);
    await rig.does('stop', 'a', '--now');
    await program.ended;
  });
});

describe('a cost limit', () => {
  it('that is set during a run stops the running agent', async () => {
    agents.installs('claude');
    const program = agents.run('--agent', 'claude');
    const turn = await rig.nextTurn();
    await rig.loop('a').journals('run.started');
    expect((await rig.does('set', 'a', 'max-cost=1')).code).toBe(0);
    await turn.prints(says('dear', 'm1', { input_tokens: 5_000_000, output_tokens: 100_000 }));
    const end = await program.ended;
    exits(end, 1);
    expect(end.stderr).toContain('cost-exhausted');
  });

  it('that can no longer be enforced ends the loop with the reason', async () => {
    agents.installs('opencode');
    const program = agents.run('--agent', 'opencode', '--max-cost', '1');
    const step = { type: 'step-finish', reason: 'stop', tokens: { input: 5, output: 5 }, cost: 0 };
    for (const session of ['s', 't']) {
      /* oxlint-disable no-await-in-loop -- one run after the other */
      const turn = await rig.nextTurn();
      await turn.prints(json({ type: 'step_start', sessionID: session, part: { type: 'step-start' } }));
      await turn.prints(json({ type: 'step_finish', sessionID: session, part: step }));
      await turn.exits(0);
      /* oxlint-enable no-await-in-loop */
    }
    const end = await program.ended;
    exits(end, 1);
    expect(end.stderr).toContain(
      'cannot enforce the cost limit of $1.0000: 2 runs did not report their cost, and the cost of no other run is known',
    );
  });

  it('counts the models with a known price if another has none', async () => {
    agents.installs('gemini');
    const program = agents.run('--agent', 'gemini', '--model', 'gemini-2.5-pro', '--max-cost', '0.01');
    const turn = await rig.nextTurn();
    const used = { total_tokens: 1_000_100, input_tokens: 1_000_000, cached: 0 };
    const models = { 'gemini-2.5-pro': used, 'router-x': { total_tokens: 11, input_tokens: 10, cached: 0 } };
    await turn.prints(json({ type: 'result', status: 'success', stats: { models } }));
    await turn.exits(0);
    exits(await program.ended, 1);
    expect(rig.loop('a').state.spent.usd).toBeGreaterThan(1);
  });
});

describe('a value of --env', () => {
  it('must be given again to resume a loop that has ended', async () => {
    agents.installs('claude');
    const program = agents.run('--agent', 'claude', '-m', '1', '--env', 'SERVER=one');
    const turn = await rig.nextTurn();
    await turn.prints(says('no') + succeeds({ result: 'no' }));
    await turn.exits(0);
    exits(await program.ended, 1);
    const refused = await agents.ralph('resume', 'a', '-m', '2').ended;
    exits(refused, 2);
    expect(refused.stderr).toContain('was started with --env SERVER, which is not kept after its end');
    const again = agents.ralph('resume', 'a', '-m', '2', '--env', 'SERVER=two');
    const second = await rig.nextTurn();
    expect(second.env['SERVER']).toBe('two');
    await finishes(second);
    exits(await again.ended, 0);
  });
});

describe('an invalid option', () => {
  it('creates no loop', async () => {
    agents.installs('claude');
    const end = await agents.run('--agent', 'claude', '--output-lines', 'abc').ended;
    exits(end, 2);
    expect(end.stderr).toContain('--output-lines must be a whole number');
    expect((await rig.does('ls', '--json')).stdout.trim()).toBe('[]');
  });
});
