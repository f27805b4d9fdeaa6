/** What providers, agents and people do to a loop at night: the loop waits, goes on, or ends with the right code. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { exits } from '../rig/cli/program.ts';
import type { Rig } from '../rig/cli/rig.ts';
import { Terminals } from '../rig/cli/terminal.ts';
import { until } from '../rig/cli/until.ts';
import {
  CLAIM,
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

const scripted = (script: string): readonly string[] => ['--agent', 'scripted', '--', ...rig.plain(script)];

describe('an unavailable provider', () => {
  it.each([
    {
      preset: 'architect',
      command: ['loop', 'task', '--check', 'true', '--max-iterations', '1'],
      last: 'COMPLETE',
    },
    {
      preset: 'ralph-cli',
      command: ['run', '-p', 'task', '--preset', 'ralph-cli', '-m', '1'],
      last: '<response>DONE</response>',
    },
    {
      preset: 'conductor',
      command: ['run', 'task', '--preset', 'conductor', '-m', '1', '--done-file', 'D'],
      last: '',
    },
  ])('is waited for and not charged in the preset $preset', async ({ command, last }) => {
    agents.installs('claude');
    const program = agents.ralph(...command, '--name', 'a', '--agent', 'claude');
    const first = await rig.nextTurn();
    await first.prints(OVERLOADED);
    await first.exits(1);
    await program.says('provider unavailable (API Error: 529 Overloaded), retrying in 1s');
    const second = await rig.nextTurn();
    if (last === '') rig.write('D', '');
    await second.prints(
      says(last) + json({ type: 'result', subtype: 'success', is_error: false, result: last }),
    );
    await second.exits(0);
    exits(await program.ended, 0);
    expect(rig.loop('a').state).toMatchObject({ iteration: 1, failures: { total: 0 } });
  });
});

describe('a request that the provider refuses', () => {
  it('fails the iteration, and ends the loop when the same prompt is refused again', async () => {
    const refusal = '{"type":"result","ok":false,"kind":"request-refused","error":"prompt is too long"}';
    const end = await agents.run(...scripted(`echo '${refusal}'; exit 1`)).ended;
    exits(end, 3);
    expect(end.stderr).toContain(
      'error: the same prompt failed twice: the provider refuses this request: prompt is too long',
    );
    expect(end.stderr.match(/retrying in/g)).toHaveLength(1);
    expect(rig.loop('a').all('run.ended')).toMatchObject([{ as: 'failure' }, { as: 'failure' }]);
  });
});

describe('a usage limit', () => {
  it('ends the loop at once if it resets after --max-time, and the report names both', async () => {
    agents.installs('claude');
    const program = agents.run('--agent', 'claude', '--max-time', '10m');
    const turn = await rig.nextTurn();
    await turn.prints(limited(inAnHour()));
    await turn.exits(1);
    const end = await program.ended;
    exits(end, 1);
    expect(end.stderr).toMatch(/the usage limit resets at [\d: -]+, after the time limit of 600 s/);
    expect(end.stderr).not.toContain('waiting until');
    // The suggested limit is long enough to wait for the reset.
    const [, seconds] = /ralph resume a --max-time (\d+)s/.exec(end.stderr) ?? [];
    expect(Number(seconds)).toBeGreaterThan(3600);
  });

  it(
    'is counted down in the status line, which shows the cost of its limit',
    { tags: ['tmux'] },
    async () => {
      agents.program('claude', `cat >/dev/null; cat <<'END'\n${limited(inAnHour() - 3400)}END\nexit 1`);
      const terminals = new Terminals();
      try {
        const words = ['run', 'task', '--name', 'a', '--agent', 'claude', '--max-cost', '5'];
        const argv = [process.execPath, rig.command, ...words];
        const terminal = terminals.open(argv, { cwd: rig.workspace, env: { ...rig.env, ...agents.env } });
        const left = /a: usage limit: (\S+ \S+) left, until (?:\S+ )?\d\d:\d\d · iteration 1\/10/;
        await terminal.shows('a: usage limit: ');
        const first = left.exec(terminal.screen)?.[1] ?? '';
        await until('another time', () => (terminal.screen.includes(`${first} left`) ? null : true));
        expect(terminal.screen).toMatch(left);
        expect(terminal.screen).toMatch(/ · iteration 1\/10 · \d+s · (?:\$0\.\d\d|unknown) of \$5\.00/);
        await rig.does('stop', 'a', '--now');
        expect((await terminal.ends()).code).toBe(130);
      } finally {
        terminals.close();
      }
    },
  );

  it('is named with its end by a resume during the wait', async () => {
    agents.installs('claude');
    const program = agents.starts('--agent', 'claude');
    const turn = await rig.nextTurn();
    await turn.prints(limited(inAnHour()));
    await turn.exits(1);
    await program.says('usage limit reached, waiting until');
    await program.crashes();
    const again = rig.ralph(['resume', 'a'], { env: agents.env });
    await again.says('continuing at iteration 1/10, waiting for the usage limit to reset (');
    expect(again.said).toMatch(/until \d\d:\d\d:\d\d\)|until \d{4}-\d\d-\d\d /);
    again.signal('SIGINT');
    exits(await again.ended, 130);
  });
});

describe('the claim of a failed run', () => {
  it('does not complete a loop without checks, nor does its marker complete the next turn', async () => {
    const script = `echo '${CLAIM}'; touch "$RALPH_TASK_FOLDER/DONE"; exit 1`;
    const end = await agents.run('-m', '2', '--', ...rig.plain(script)).ended;
    exits(end, 1);
    expect(end.stderr).toContain(
      'claim rejected: the agent says it is done, but its run did not succeed and no check confirms it',
    );
    expect(end.stderr).not.toContain('claim accepted');
    expect(rig.loop('a').all('iteration.started')).toHaveLength(2);
  });

  it('completes a loop whose checks pass, which does not announce a retry then', async () => {
    const end = await agents.run('--check', 'true', '--', ...rig.plain(`echo '${CLAIM}'; exit 1`)).ended;
    exits(end, 0);
    expect(end.stderr).toContain('iteration 1 failed (exit: 1) (attempt 1/5)');
    expect(end.stderr).toContain('claim accepted: every check passed');
    expect(end.stderr).not.toContain('retrying');
  });

  it('has not failed if Ralph ends it at a time limit after it reported its success', async () => {
    agents.installs('claude');
    const program = agents.run('--agent', 'claude', '--iteration-timeout', '2s', '--kill-grace', '1h');
    const turn = await rig.nextTurn();
    await turn.prints(says(CLAIM) + succeeds());
    // It does not exit, and hangs until the end of its time.
    exits(await program.ended, 0);
    expect(turn.heard).toEqual(['SIGTERM']);
    expect(rig.loop('a').all('run.ended')).toMatchObject([{ as: 'ok', ending: { how: 'exited' } }]);
  });

  it('announces the retry once the checks have rejected it', async () => {
    const end = await agents.run('--check', 'false', '-m', '2', '--', ...rig.plain(`echo '${CLAIM}'; exit 1`))
      .ended;
    exits(end, 1);
    expect(end.stderr).toMatch(/claim rejected: .*\n(?:.*\n)*?.*retrying in 1s/);
  });
});

describe('progress', () => {
  it('is not made by an agent that goes back and forth between two states, even with commits', async () => {
    const script =
      'if [ "$(cat f)" = a ]; then echo b >f; else echo a >f; fi; git add f; git commit --quiet --message x';
    const end = await agents.run('-m', '20', '--max-unchanged', '3', '--', ...rig.plain(script)).ended;
    exits(end, 1);
    expect(end.stderr).toContain('stuck: 3 consecutive iterations without progress');
    expect(rig.loop('a').all('iteration.started')).toHaveLength(5);
  });

  it('is not made by markers that Ralph moves aside', async () => {
    const script = 'touch "$RALPH_DONE_FILE"';
    const run = (name: string, ...args: readonly string[]) =>
      agents.ralph(
        'run',
        'task',
        '--name',
        name,
        '-m',
        '9',
        '--check',
        'false',
        ...args,
        '--',
        ...rig.plain(script),
      ).ended;
    expect((await run('a', '--worktree')).stderr).toContain(
      'stuck: 5 consecutive iterations without progress',
    );
    expect((await run('b', '--done-file', 'READY')).stderr).toContain('stuck: 5 consecutive');
    expect(rig.git('status', '--porcelain')).toBe('');
  });

  it('is not required with --max-unchanged 0', async () => {
    const end = await agents.run('-m', '7', '--max-unchanged', '0', '--', ...rig.plain('true')).ended;
    exits(end, 1);
    expect(end.stderr).toContain('iteration limit reached: 7');
  });
});

describe('exit codes', () => {
  it('a paused loop exits with 4, so that a command after && does not run', async () => {
    const program = agents.run('--', ...rig.agent);
    const turn = await rig.nextTurn();
    await rig.does('pause', 'a');
    await program.says('pausing after this iteration');
    await turn.exits(0);
    const end = await program.ended;
    exits(end, 4);
    expect(end.stderr).toContain('paused');
  });

  it('SIGTERM ends the running step within the grace and the loop exits with 143', async () => {
    const program = agents.starts(
      '--kill-grace',
      '100ms',
      '--',
      ...rig.plain('trap "" TERM; echo up; sleep 600'),
    );
    await program.says('up');
    program.signal('SIGTERM');
    const end = await program.ended;
    exits(end, 143);
    expect(end.stderr).toContain('cancelled by SIGTERM');
    expect(rig.loop('a').state.outcome).toEqual({ type: 'stopped', by: 'signal', signal: 'SIGTERM' });
    expect(rig.loop('a').all('control.received')).toMatchObject([
      { control: { type: 'signal', signal: 'SIGTERM' } },
    ]);
  });

  it('S2.69 SIGTERM lets the running step finish in a preset whose document says so, with 130', async () => {
    const program = agents.starts('--preset', 'ralph-cli', '--', ...rig.agent);
    const turn = await rig.nextTurn();
    program.signal('SIGTERM');
    await program.says('Received signal, shutting down...');
    await turn.exits(0);
    exits(await program.ended, 130);
    expect(turn.heard).toEqual([]);
  });
});
