/** Agents that misbehave, one fixture each: what the loop does, and that no process is left. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lives } from '../rig/cli/leftovers.ts';
import { exits } from '../rig/cli/program.ts';
import { setUpRig, type Rig } from '../rig/cli/rig.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await setUpRig();
});
afterEach(() => rig.tearDown());

const PROMISE = '<promise>DONE</promise>\n';

/** The command line of a loop called `a` whose agent is a fixture. */
function loopWith(fixture: string, ...options: readonly string[]): readonly string[] {
  return ['run', 'task', '--name', 'a', ...options, '--', rig.fixture(fixture)];
}

describe('a process that an agent leaves running', () => {
  for (const exit of [0, 1]) {
    it(`S1.36 S1.37 is killed after the agent exits with ${exit}, and the loop continues`, async () => {
      const options = ['--preset', 'conductor', '-m', '1', '--restart-delay', '0'];
      const end = await rig.does(...loopWith('leaves-server-running', ...options), String(exit));
      exits(end, 1);
      expect(end.stdout).toBe(PROMISE);
      expect(lives(Number(rig.read('server.pid')))).toBe(false);
      expect(rig.left()).toEqual([]);
      expect(rig.loop('a').all('run.ended')).toMatchObject([{ ending: { how: 'exited', code: exit } }]);
    });
  }

  it('is killed although it has its own session', { tags: ['setsid'] }, async () => {
    const end = await rig.does(...loopWith('daemonizes-with-setsid'));
    exits(end, 0);
    expect(lives(Number(rig.read('daemon.pid')))).toBe(false);
    expect(end.stderr).not.toContain('left behind');
    expect(rig.left()).toEqual([]);
  });

  it('is reported but not killed if it has cleared its environment', { tags: ['setsid'] }, async () => {
    const end = await rig.does(...loopWith('daemonizes-without-environment'));
    const pid = Number(rig.read('daemon.pid'));
    expect(lives(pid)).toBe(true);
    process.kill(pid, 'SIGKILL');
    exits(end, 0);
    expect(end.stderr).toContain(`process ${pid} (sh) may have been left behind by the agent`);
    expect(rig.loop('a').all('run.ended')).toMatchObject([{ strays: [{ pid, command: 'sh' }] }]);
  });
});

describe('an agent that does not exit', () => {
  it('S1.35 S1.36 gets SIGTERM when it times out, and SIGKILL five seconds later', async () => {
    const options = [
      '--preset',
      'conductor',
      '-m',
      '1',
      '--restart-delay',
      '0',
      '--iteration-timeout',
      '500ms',
    ];
    const end = await rig.does(...loopWith('ignores-sigterm', ...options));
    exits(end, 1);
    const [planned] = rig.loop('a').all('run.planned');
    const [ended] = rig.loop('a').all('run.ended');
    expect(ended).toMatchObject({ as: 'failure', ending: { how: 'timed-out', which: 'wall' } });
    // Not less than the policy says; how much more depends on the load of this machine.
    expect((ended?.at ?? 0) - (planned?.at ?? 0)).toBeGreaterThanOrEqual(5500);
    const [created] = rig.loop('a').all('loop.created');
    expect(created?.policy).toMatchObject({ timeouts: { killGraceMs: 5000 } });
    expect(rig.loop('a').read('runs', '0001', 'exit')).toBe('137\n');
    expect(rig.left()).toEqual([]);
  });

  it('S1.72 is stopped by the inactivity timeout if it prints nothing', async () => {
    const options = ['--inactivity-timeout', '500ms', '--kill-grace', '100ms', '--max-failures', '1'];
    const end = await rig.does(...loopWith('ignores-sigterm', ...options));
    exits(end, 1);
    expect(end.stderr).toContain('iteration 1 failed');
    expect(rig.loop('a').all('run.ended')).toMatchObject([{ ending: { which: 'inactivity' } }]);
    expect(rig.left()).toEqual([]);
  });

  it('is stopped after --kill-grace if it has reported its result, and the run is ok', async () => {
    const args = loopWith('finishes-but-does-not-exit', '--agent', 'scripted', '--kill-grace', '300ms');
    const end = await rig.does(...args);
    exits(end, 0);
    expect(end.stdout).toBe('working\n');
    const [ended] = rig.loop('a').all('run.ended');
    expect(ended).toMatchObject({ as: 'ok', ending: { how: 'exited' } });
    expect(rig.left()).toEqual([]);
  });

  it('keeps Ralph waiting although its stdout is closed', async () => {
    const gate = rig.gate();
    const program = rig.ralph(loopWith('closes-stdout-and-lives-on'), { env: { GATE: gate.path } });
    await rig.appears('closed');
    await program.says('my last words');
    expect(rig.loop('a').all('run.ended')).toEqual([]);
    gate.open();
    const end = await program.ended;
    exits(end, 0);
    expect(end.stdout).toBe('my last words\n');
    expect(rig.loop('a').state.outcome).toMatchObject({ type: 'done' });
  });
});

describe('an agent that exits right after its result', () => {
  it('ends the loop at once', async () => {
    const line = JSON.stringify({ type: 'result', ok: true, text: '<promise>DONE</promise>' });
    const args = ['run', 'task', '--name', 'a', '--agent', 'scripted', '--', ...rig.plain(`echo '${line}'`)];
    const end = await rig.does(...args);
    exits(end, 0);
    expect(rig.loop('a').state.outcome).toMatchObject({ type: 'done' });
  });
});

describe('an agent that is killed', () => {
  for (const [signal, status] of [
    ['KILL', 137],
    ['SEGV', 139],
    ['TERM', 143],
  ] as const) {
    it(`by SIG${signal} counts as failed`, async () => {
      const end = await rig.does(...loopWith('exits-by-signal', '--max-failures', '1'), signal);
      exits(end, 1);
      expect(end.stdout).toBe('here I die\n');
      expect(end.stderr).toContain(`iteration 1 failed (exit: ${status})`);
      expect(rig.loop('a').all('run.ended')).toMatchObject([
        { as: 'failure', ending: { how: 'exited', code: status } },
      ]);
      // A shell prints its own message about the signal; the log has only the agent's output.
      expect(rig.loop('a').read('runs', '0001', 'stderr.log')).toBe('');
    });
  }
});

describe('the output of an agent', () => {
  it('S2.40 can contain the claim even if --no-stream-agent-output hides it', async () => {
    const args = ['run', 'task', '--name', 'a', '--preset', 'ralph-cli', '--no-stream-agent-output'];
    const end = await rig.does(...args, '--', ...rig.plain('echo words; echo "<response>DONE</response>"'));
    exits(end, 0);
    expect(end.stdout).toBe('');
    expect(rig.loop('a').read('runs', '0001', 'stdout.log')).toBe('words\n<response>DONE</response>\n');
  });

  it('may be empty: the loop runs until its iteration limit', async () => {
    const end = await rig.does(...loopWith('prints-nothing', '-m', '2'));
    exits(end, 1);
    expect(end.stdout).toBe('');
    expect(end.stderr).toContain('iteration limit reached: 2 without an accepted claim');
    expect(statSync(rig.loop('a').file('runs', '0002', 'stdout.log')).size).toBe(0);
    expect(rig.loop('a').state.outcome).toMatchObject({ type: 'iterations-exhausted', limit: 2 });
  });

  it('shows a UTF-8 character in one piece although it arrives in two', async () => {
    const gate = rig.gate();
    const program = rig.ralph(loopWith('half-a-utf8-character'), { env: { GATE: gate.path } });
    await program.says('caf');
    gate.open();
    const end = await program.ended;
    exits(end, 0);
    expect(end.stdout).toBe(`café\n${PROMISE}\uFFFD\n`);
    const log = readFileSync(rig.loop('a').file('runs', '0001', 'stdout.log'));
    expect(log).toEqual(Buffer.concat([Buffer.from(`café\n${PROMISE}`), Buffer.from([0xc3])]));
  });

  it('of 500 MB is logged and shown with less than 150 MB of memory', { timeout: 60_000 }, async () => {
    const program = rig.ralph(loopWith('prints-500-mb', '--max-output', '2g'), { measured: true });
    const end = await program.ended;
    exits(end, 0);
    const bytes = 500_000_000 + 1 + PROMISE.length;
    expect(statSync(rig.loop('a').file('runs', '0001', 'stdout.log')).size).toBe(bytes);
    expect(end.stdoutBytes).toBe(bytes);
    expect(program.peakMegabytes).toBeLessThan(150);
  });

  it('stops the agent when it exceeds --max-output', async () => {
    const options = ['--max-output', '1m', '--max-failures', '1', '--quiet'];
    const end = await rig.does(...loopWith('prints-500-mb', ...options));
    exits(end, 1);
    expect(rig.loop('a').all('run.ended')).toMatchObject([{ ending: { how: 'timed-out', which: 'output' } }]);
    expect(rig.left()).toEqual([]);
  });

  it('neither fills the memory nor blocks the loop while it has no reader', async () => {
    const options = { unread: true, measured: true };
    const program = rig.ralph(loopWith('one-line-of-64-mb', '--max-output', '2g'), options);
    await rig.loop('a').journals('loop.ended');
    program.readsOn();
    exits(await program.ended, 0);
    expect(program.peakMegabytes).toBeLessThan(150);
  });

  for (const kind of ['custom', 'scripted']) {
    it(`in one line of 64 MB needs less than 150 MB of memory (${kind})`, async () => {
      const options = ['--agent', kind, '--max-output', '2g', '-m', '1'];
      const program = rig.ralph(loopWith('one-line-of-64-mb', ...options), { measured: true });
      const end = await program.ended;
      exits(end, kind === 'custom' ? 0 : 1);
      expect(statSync(rig.loop('a').file('runs', '0001', 'stdout.log')).size).toBe(
        2 ** 26 + 1 + PROMISE.length,
      );
      expect(existsSync(rig.loop('a').file('state.json'))).toBe(true);
      expect(program.peakMegabytes).toBeLessThan(150);
    });
  }
});
