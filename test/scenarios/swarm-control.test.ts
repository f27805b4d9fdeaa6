import { describe, expect, it } from 'vitest';
import { openLoadedStage, openStage, waitFor } from './stage.ts';

const swarm = ['-p', 'work', '--preset', 'swarm'];

describe('a swarm loop', () => {
  it('S4.35 S4.36 S4.41 S4.43 S4.79 pauses after the current agent, and resume continues the count (T109)', async () => {
    const stage = openLoadedStage();
    stage.plans(2, `trap ': > "$FAKE_CALL/signal"' INT TERM HUP; ${waitFor()}`);
    const ralph = stage.starts(...swarm, '-m', '4');
    await stage.waitForCall(2);
    const paused = await stage.ralph('pause', 'it').ended;
    expect(paused).toMatchObject({ code: 0, stdout: 'paused ralph loop for it\n' });
    stage.release();
    expect((await ralph.ended).code).toBe(0);
    expect([stage.calls, stage.has(2, 'end'), stage.has(2, 'signal')]).toEqual([2, true, false]);
    expect(stage.state).toMatchObject({ status: 'paused', current_iteration: 2 });
    expect((await stage.ralph('status', 'it').ended).code).toBe(1);

    stage.plans(3, waitFor('on'));
    const resumed = stage.ralph('resume', 'it');
    await resumed.until('[ralph] it: starting iteration 3/4\n');
    await stage.waitForCall(3);
    const running = await stage.ralph('status', 'it', '--json').ended;
    expect(running.code).toBe(0);
    expect(running.stdout).toContain('"status": "running"');
    stage.release('on');
    expect(await resumed.ended).toMatchObject({ code: 0, stdout: 'resumed ralph loop for it\n' });
    expect(stage.calls).toBe(4);
  });

  it('S4.36 S4.43 continues after the current agent if it is resumed before that agent ends (T109)', async () => {
    const stage = openLoadedStage();
    stage.plans(1, waitFor());
    const ralph = stage.starts(...swarm, '-m', '2');
    await stage.waitForCall(1);
    await stage.ralph('pause', 'it').ended;
    const resumed = await stage.ralph('resume', 'it').ended;
    expect(resumed).toMatchObject({ code: 0, stdout: 'resumed ralph loop for it\n' });
    expect(stage.has(1, 'end')).toBe(false);
    stage.release();
    expect((await ralph.ended).code).toBe(0);
    expect(stage.calls).toBe(2);
  });

  it('S4.38 S4.39 warns if it is paused twice, or resumed while it runs (T111)', async () => {
    const stage = openLoadedStage();
    stage.plans(1, waitFor());
    const ralph = stage.starts(...swarm, '-m', '1');
    await stage.waitForCall(1);
    const running = await stage.ralph('resume', 'it').ended;
    await stage.ralph('pause', 'it').ended;
    const paused = await stage.ralph('pause', 'it').ended;
    stage.release();
    await ralph.ended;
    expect([running.code, paused.code]).toEqual([0, 0]);
    expect(running.stderr).toBe("ralph: warning: worker 'it' is not paused\n");
    expect(paused.stderr).toBe("ralph: warning: worker 'it' is already paused\n");
  });

  it('that does not exist is bad usage for every command, and the message lists the known loops (T111)', async () => {
    const stage = openLoadedStage();
    await stage.run(...swarm, '-m', '1');
    for (const args of [['pause'], ['resume'], ['stop'], ['status'], ['logs'], ['rm'], ['tell'], ['set']]) {
      const more = { tell: ['words'], set: ['max-iterations=3'] }[args[0] ?? ''] ?? [];
      // oxlint-disable-next-line no-await-in-loop -- one after the other keeps the machine free
      const { code, stderr } = await stage.ralph(...args, 'unknown', ...more).ended;
      expect({ args, code }).toEqual({ args, code: 2 });
      expect(stderr).toMatch(/^ralph: error: no loop named "unknown" .*known here: it.*\n$/);
    }
  });

  it('S4.76 S4.98 S4.99 pauses on SIGTERM: the agent finishes, and the loop can be resumed (T113)', async () => {
    const stage = openStage();
    stage.plans(1, `trap ': > "$FAKE_CALL/signal"' TERM; ${waitFor()}`);
    const ralph = stage.starts(...swarm, '-m', '2');
    await stage.waitForCall(1);
    ralph.signal('SIGTERM');
    await ralph.until('[ralph] it: received SIGTERM, pausing loop (current agent will complete)\n');
    stage.release();
    const { code, stderr } = await ralph.ended;
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 1 });
    expect(stderr).toContain('[ralph] it: paused, exiting loop\n');
    expect([stage.has(1, 'end'), stage.has(1, 'signal')]).toEqual([true, false]);
    expect(stage.state['status']).toBe('paused');
    expect(stage.log).toContain('[PAUSE] loop paused reason=sigterm\n');
    expect((await stage.ralph('resume', 'it').ended).code).toBe(0);
    expect(stage.calls).toBe(2);
  });

  it('S4.42 whose owner and agent both died is restarted by resume', async () => {
    const stage = openStage();
    stage.plans(1, `echo $PPID > "$FAKE_CALL/pid"; ${waitFor('never')}`);
    const ralph = stage.starts(...swarm, '-m', '2');
    await stage.waitForCall(1, 'pid');
    ralph.signal('SIGKILL');
    await ralph.ended;
    stage.killAll();
    expect(stage.state['status']).toBe('running');
    const status = await stage.ralph('status', 'it').ended;
    expect(status.code).toBe(1);
    expect(status.stdout).toContain('Status: crashed\n');
    const { code, stderr } = await stage.ralph('resume', 'it').ended;
    expect(code).toBe(0);
    expect(stage.state).toMatchObject({ status: 'stopped', current_iteration: 2 });
    expect(stderr).toContain('[ralph] it: continuing at iteration 1/2, whose agent is no longer running\n');
    const { stdout } = await stage.ralph('story', 'it').ended;
    expect(stdout).toMatch(/the loop crashed; process \d+ took it over .*whose agent is no longer running/);
    expect(stdout + stderr).not.toContain('reattached');
  });

  it('S4.64 S4.66 S4.92 has a status in the documented lines, with exit code 0 if it runs, 1 if not, 2 if unknown (T121)', async () => {
    const stage = openLoadedStage();
    stage.plans(2, waitFor());
    const ralph = stage.starts(...swarm, '-m', '2', '--done-pattern', 'never');
    await stage.waitForCall(2);
    const running = await stage.ralph('status', 'it').ended;
    stage.release();
    await ralph.ended;
    const time = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`;
    expect(running.code).toBe(0);
    expect(running.stdout).toMatch(
      new RegExp(
        `^Ralph Loop: it\nStatus: running\nIteration: 2/2\nStarted: ${time}\nCurrent iteration started: ${time}\n` +
          'Consecutive failures: 0\nTotal failures: 0\nInactivity timeout: 60s\nDone pattern: never\n',
      ),
    );
    expect((await stage.ralph('status', 'it').ended).code).toBe(1);
    expect((await stage.ralph('status', 'unknown').ended).code).toBe(2);
  });

  it('adds guidance to its next prompt, and obeys a limit that is set while it runs', async () => {
    const stage = openLoadedStage();
    stage.plans(1, waitFor());
    const ralph = stage.starts(...swarm, '-m', '1');
    await stage.waitForCall(1);
    await stage.ralph('tell', 'it', 'look', 'at', 'the parser').ended;
    await stage.ralph('set', 'it', 'max-iterations=3').ended;
    stage.release();
    expect((await ralph.ended).code).toBe(0);
    expect(stage.calls).toBe(3);
    expect(stage.given(2, 'stdin')).toContain('look at the parser');
    expect(stage.given(3, 'stdin')).toBe('work');
  });

  it('S4.71 runs beside a loop of another name, and commands to one do not reach the other', async () => {
    const stage = openLoadedStage();
    stage.plans('default', waitFor());
    const one = stage.starts(...swarm, '-m', '2');
    await stage.waitForCall(1);
    const two = stage.ralph('run', '--name', 'it-2', ...swarm, '-m', '2', '--', stage.agent);
    await stage.waitForCall(2);
    await stage.ralph('pause', 'it').ended;
    expect((await stage.ralph('ls').ended).stdout).toMatch(/^it +paused .*\nit-2 +running /m);
    stage.release();
    expect([(await one.ended).code, (await two.ended).code]).toEqual([0, 0]);
    expect(one.stderr).toContain('[ralph] it: paused, exiting loop');
    expect(two.stderr).toContain('[ralph] it-2: loop complete after 2 iterations');
    expect(stage.calls).toBe(3);
  });

  it('on the files of another loop warns about it and suggests --worktree', async () => {
    const stage = openLoadedStage();
    stage.plans('default', waitFor());
    const one = stage.starts(...swarm, '-m', '1');
    await stage.waitForCall(1);
    const two = stage.ralph('run', '--name', 'it-2', ...swarm, '-m', '1', '--', stage.agent);
    await stage.waitForCall(2);
    stage.release();
    await Promise.all([one.ended, two.ended]);
    expect(one.stderr).not.toContain('warning: the loop');
    expect(two.stderr).toContain(
      '[ralph] it-2: warning: the loop it is running on the same files; the two may interfere (--worktree gives a loop its own files)\n',
    );
  });

  it('S4.98 kills the agent on stop --now and leaves no process behind', async () => {
    const stage = openLoadedStage();
    stage.plans(1, 'sleep 300');
    const ralph = stage.starts(...swarm, '-m', '2');
    await stage.waitForCall(1);
    expect((await stage.ralph('stop', 'it', '--now').ended).code).toBe(0);
    expect((await ralph.ended).code).toBe(130);
    expect(stage.has(1, 'end')).toBe(false);
    expect(stage.state).toMatchObject({ status: 'stopped', outcome: { type: 'stopped', by: 'person' } });
    expect(stage.log).toContain('reason=killed');
  });
});
