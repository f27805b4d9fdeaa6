/** Faults between the agent and its provider, as the CLIs report them, and what a loop makes of them. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { exits } from '../rig/cli/program.ts';
import type { Rig } from '../rig/cli/rig.ts';
import type { Turn } from '../rig/cli/turn.ts';
import { finishes, json, setUpAgents, type AgentRig } from './agent-rig.ts';

let agents: AgentRig;
let rig: Rig;
beforeEach(async () => {
  agents = await setUpAgents();
  ({ rig } = agents);
});
afterEach(() => rig.tearDown());

const WAITS = json({
  type: 'error',
  message: 'Reconnecting... waiting for network (Connection failed: error sending request)',
});

/** Does it again and again until the agent is stopped. */
async function repeats(turn: Turn, print: () => Promise<unknown>): Promise<void> {
  const isPrinted = await print().then(
    () => true,
    () => false,
  );
  return isPrinted ? repeats(turn, print) : turn.gone;
}

describe('an agent that waits for the network', () => {
  it.each(['--inactivity-timeout', '--iteration-timeout'])(
    'is stopped by %s although it reports every retry, and that is an outage',
    async (option) => {
      agents.installs('codex');
      const program = agents.starts('--agent', 'codex', '-m', '1', '--max-failures', '1', option, '1s');
      const turn = await rig.nextTurn();
      await turn.prints(json({ type: 'thread.started', thread_id: 't' }));
      await repeats(turn, () => turn.prints(WAITS));
      await program.says('agent timeout: it could not reach its provider');
      // The next run has the same short timeout, so nothing is asked of it.
      await rig.nextTurn();
      program.signal('SIGTERM');
      const end = await program.ended;
      expect(end.stderr).toContain(
        'provider unavailable (waiting for network: Connection failed: error sending request): retry 1',
      );
      expect(end.stderr).toContain('provider outage');
      expect(
        rig
          .loop('a')
          .all('run.ended')
          .map(({ as }) => as)[0],
      ).toBe('outage');
    },
  );
});

describe('an agent that is silent until the inactivity timeout', () => {
  const runsOnce = async (agent: string, says: (turn: Turn) => Promise<unknown>, until: string) => {
    agents.installs(agent);
    const limits = ['-m', '1', '--max-failures', '1', '--inactivity-timeout', '1s'];
    const program = agents.starts('--agent', agent, ...limits);
    await says(await rig.nextTurn());
    await program.says(until);
    program.signal('SIGTERM');
    await program.ended;
    return program;
  };
  const classes = (): readonly unknown[] =>
    rig
      .loop('a')
      .all('run.ended')
      .map(({ as }) => as);

  it('is an outage if it has only started: its provider never answered', async () => {
    await runsOnce(
      'codex',
      async (turn) => {
        await turn.prints(json({ type: 'thread.started', thread_id: 't' }));
        await turn.prints(json({ type: 'turn.started' }));
      },
      'provider unavailable (agent timeout: the provider did not answer), retrying in 1s',
    );
    expect(classes()[0]).toBe('outage');
  });

  it('has hit a usage limit if opencode reports one in its log, which is not shown', async () => {
    const program = await runsOnce(
      'opencode',
      (turn) =>
        turn.complains(
          'timestamp=2026-11-19T01:52:42.283Z level=ERROR run=1 message="stream error" small=false error.error="AI_APICallError: The usage limit has been reached"\n',
        ),
      'usage limit reached, waiting until',
    );
    const { stderr } = await program.ended;
    expect(stderr).toContain('provider unavailable (The usage limit has been reached): retry 1');
    expect(stderr).not.toContain('timestamp=');
    expect(classes()[0]).toBe('usage-limit');
  });

  const logs = (turn: Turn, entry: string): Promise<unknown> =>
    turn.complains(`timestamp=2026-11-19T01:52:42.283Z ${entry}\n`);
  const logsOn = (turn: Turn): Promise<void> =>
    repeats(turn, () => logs(turn, 'level=INFO run=1 message="checking the workspace"'));

  it('has hit a usage limit although opencode logs other things after it', async () => {
    const program = await runsOnce(
      'opencode',
      async (turn) => {
        await logs(
          turn,
          'level=ERROR run=1 message="stream error" error.error="AI_APICallError: Rate limited."',
        );
        await logsOn(turn);
      },
      'usage limit reached, waiting until',
    );
    expect((await program.ended).stderr).not.toContain('checking the workspace');
    expect(classes()[0]).toBe('usage-limit');
  });

  it('is inactive although opencode logs all the time', async () => {
    agents.installs('opencode');
    const limits = ['-m', '1', '--inactivity-timeout', '1s'];
    const program = agents.starts('--agent', 'opencode', ...limits);
    await logsOn(await rig.nextTurn());
    expect((await program.ended).stderr).toContain('failed (inactivity timeout (1s))');
    expect(classes()).toEqual(['failure']);
  });
});

describe('a request that gets no response', () => {
  it('is shown with what happened to the connection', async () => {
    agents.installs('claude');
    const program = agents.run('--agent', 'claude', '-m', '1');
    const turn = await rig.nextTurn();
    await turn.prints(
      json({
        type: 'system',
        subtype: 'api_retry',
        attempt: 1,
        max_retries: 10,
        retry_delay_ms: 500,
        error_status: null,
        error: 'unknown',
      }),
    );
    await finishes(turn);
    const end = await program.ended;
    exits(end, 0);
    expect(end.stderr).toContain(
      'provider unavailable (no response: the connection was refused, dropped or timed out): retry 1 of 10',
    );
  });
});

describe('an account without credit', () => {
  it('ends the loop while qwen still waits for minutes, with advice about billing', async () => {
    agents.installs('qwen');
    const program = agents.run('--agent', 'qwen');
    const turn = await rig.nextTurn();
    await turn.complains(
      'Retrying in 60s (attempt 1/10): [API Error: 429 You exceeded your current quota, please check your plan and billing details.]\n',
    );
    const end = await program.ended;
    exits(end, 3);
    expect(end.stderr).toMatch(/please check your plan and billing details; add credit to the account/);
    expect(end.stderr).not.toContain('log in');
  });
});

describe('a proxy that blocks the provider', () => {
  it('ends the loop at once, with advice about the proxy and not about a login', async () => {
    agents.installs('claude');
    const program = agents.run('--agent', 'claude');
    const turn = await rig.nextTurn();
    await turn.prints(
      json({
        type: 'result',
        subtype: 'success',
        is_error: true,
        api_error_status: 403,
        result: 'Failed to authenticate. API Error: 403 Access Denied',
      }),
    );
    await turn.exits(1);
    const end = await program.ended;
    exits(end, 3);
    expect(end.stderr).toContain('the connection to the provider is blocked');
    expect(end.stderr).toContain('HTTPS_PROXY');
    expect(end.stderr).not.toContain('claude /login');
  });
});

describe('an agent with an invalid configuration', () => {
  it('ends the loop after one run', async () => {
    agents.program('gemini', "echo 'Invalid auth method selected.' >&2; exit 41");
    const end = await agents.run('--agent', 'gemini').ended;
    exits(end, 3);
    expect(end.stderr).toContain('Invalid auth method selected; choose a method with: gemini, then /auth');
    expect(rig.loop('a').all('run.ended')).toHaveLength(1);
  });
});
