import { describe, expect, it } from 'vitest';
import { openLoadedStage, openStage, waitFor, type Stage } from './stage.ts';

const swarm = ['-p', 'work', '--preset', 'swarm'];
const waits = ({ journal }: Stage) =>
  journal.flatMap((event, index) => {
    const next = journal.slice(index).find(({ type }) => type === 'timer.fired');
    return event.type === 'run.ended' && next !== undefined ? [next.at - event.at] : [];
  });

describe('failures', () => {
  it('S4.12 S4.15 S4.20 S4.51 double the wait until a success, and the wait does not count as inactivity (T103 T126)', async () => {
    const stage = openLoadedStage();
    stage.plans('default', 'exit 1');
    stage.plans(3, 'exit 0');
    const args = ['-m', '3', '--inactivity-timeout', '600ms'];
    const { code, stderr } = await stage.run(...swarm, ...args);
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 3 });
    expect(stderr).toContain('[ralph] it: iteration 1 failed (exit: 1), retrying in 1s (attempt 1/5)\n');
    expect(stderr).toContain('[ralph] it: iteration 2 failed (exit: 1), retrying in 2s (attempt 2/5)\n');
    const [first = 0, second = 0] = waits(stage);
    expect([Math.floor(first / 1000), Math.floor(second / 1000)]).toEqual([1, 2]);
    expect(stage.state).toMatchObject({ consecutive_failures: 0, total_failures: 2 });
    expect(stderr).not.toContain('inactivity');
    expect(stage.log).not.toContain('TIMEOUT');
  });

  it('S4.14 S4.40 S4.54 end the loop at the fifth in a row, and a pause ends the wait at once (T103)', async () => {
    const stage = openLoadedStage();
    stage.plans('default', 'exit 1');
    // The loop has its own processes, so that a pause is loaded and comes within the first second also on a busy machine.
    let ralph = stage.shell(`exec $RALPH run --name it ${swarm.join(' ')} -m 9 -- ${stage.agent}`);
    for (const failures of [1, 2, 3, 4]) {
      // oxlint-disable no-await-in-loop -- one after the other is the point
      await ralph.until(`(attempt ${failures}/5)`);
      await stage.ralph('pause', 'it').ended;
      expect((await ralph.ended).code).toBe(0);
      ralph = stage.shell('exec $RALPH resume it');
      // oxlint-enable no-await-in-loop
    }
    const { code, stderr } = await ralph.ended;
    expect({ code, calls: stage.calls }).toEqual({ code: 1, calls: 5 });
    expect(stderr).toContain('[ralph] it: 5 consecutive failures, stopping loop\n');
    expect(stage.state).toMatchObject({ status: 'failed', consecutive_failures: 5, total_failures: 5 });
    expect(Math.max(...waits(stage))).toBeLessThan(1000);
  });

  it('by a signal have the exit code 128 plus the signal number (T103)', async () => {
    const stage = openLoadedStage();
    const args = [
      ...swarm,
      '--name',
      'it',
      '-m',
      '9',
      '--max-failures',
      '1',
      '--',
      'sh',
      '-c',
      'kill -SEGV $$',
    ];
    const { code, stderr } = await stage.ralph('run', ...args).ended;
    expect(code).toBe(1);
    expect(stderr).toContain('iteration 1 failed (exit: 139)');
    expect(stderr).toContain('1 consecutive failure, stopping loop');
    expect(stage.log).toContain('[FAIL] iteration 1 exit=139 attempt=1/1');
  });

  it(
    'S4.7 S4.16 S4.53 S4.102 do not include a silent agent, which is killed before the next one starts (T104)',
    { tags: ['ps'] },
    async () => {
      const stage = openLoadedStage();
      stage.plans(1, 'echo begun; echo $$ > "$FAKE_PLAN/first"; sleep 300');
      stage.plans(2, 'ps -o stat= -p "$(cat "$FAKE_PLAN/first")" > "$FAKE_CALL/first" || :');
      const { code, stderr } = await stage.run(...swarm, '-m', '2', '--inactivity-timeout', '1');
      expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 2 });
      expect(stderr).toContain('[ralph] it: inactivity timeout (1s), restarting\n');
      expect(stage.given(2, 'first').trim()).toMatch(/^(?:Z.*)?$/);
      expect(stage.state).toMatchObject({ total_failures: 0, inactivity_timeout: 1 });
      expect(stage.log).toContain('[TIMEOUT] iteration 1 inactivity_timeout=1s');
      await stage.run(...swarm, '-m', '1');
      expect(stage.state['inactivity_timeout']).toBe(60);
    },
  );

  it('S4.69 S4.98 appear in iterations.log, like timeouts, pauses and the end, in a searchable form (T125)', async () => {
    const stage = openLoadedStage();
    stage.plans(1, 'exit 3');
    stage.plans(2, 'sleep 300');
    // Not silent: on a busy machine the pause may take longer than the timeout.
    stage.plans(3, 'until [ -e "$FAKE_PLAN/go" ]; do echo working; sleep 0.1; done');
    const ralph = stage.starts(...swarm, '-m', '4', '--inactivity-timeout', '1');
    await stage.waitForCall(3);
    await stage.ralph('pause', 'it').ended;
    stage.release();
    expect((await ralph.ended).code).toBe(0);
    expect((await stage.ralph('resume', 'it').ended).code).toBe(0);
    const entries = stage.log
      .trimEnd()
      .split('\n')
      .map((line) =>
        line.replace(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d /, '').replace(/duration=\d+s/, 'duration=#'),
      );
    expect(entries).toEqual([
      '[START] iteration 1/4',
      '[END] iteration 1 exit=3 duration=#',
      '[FAIL] iteration 1 exit=3 attempt=1/5 backoff=1s',
      '[START] iteration 2/4',
      '[END] iteration 2 exit=timed-out duration=#',
      '[TIMEOUT] iteration 2 inactivity_timeout=1s',
      '[START] iteration 3/4',
      '[PAUSE] loop paused reason=manual',
      '[END] iteration 3 exit=0 duration=#',
      '[RESUME] loop resumed',
      '[START] iteration 4/4',
      '[END] iteration 4 exit=0 duration=#',
      '[DONE] loop complete after 4 iterations reason=max_iterations',
    ]);
  });
});

describe('the wait in iterations.log', () => {
  it('S4.98 S4.54 has no backoff after the last failure, which no wait follows', async () => {
    const stage = openLoadedStage();
    stage.plans('default', 'exit 3');
    const failuresIn = (): readonly string[] => stage.log.match(/(?<=\[FAIL\] iteration ).*/g) ?? [];
    await stage.run(...swarm, '-m', '9', '--max-failures', '2');
    expect(failuresIn()).toEqual(['1 exit=3 attempt=1/2 backoff=1s', '2 exit=3 attempt=2/2']);
    const { stderr } = await stage.run(...swarm, '-m', '1', '--fresh');
    expect(failuresIn().at(-1)).toBe('1 exit=3 attempt=1/5');
    expect(stderr).not.toContain('retrying');
  });

  it('S4.40 S4.98 has no backoff if the loop pauses', async () => {
    const stage = openStage();
    stage.plans(1, `${waitFor()}; exit 3`);
    const ralph = stage.starts(...swarm, '-m', '4');
    await stage.waitForCall(1);
    await stage.ralph('pause', 'it').ended;
    await stage.waitForEvents('control.received');
    stage.release();
    const { stderr } = await ralph.ended;
    expect(stage.log).toContain('[FAIL] iteration 1 exit=3 attempt=1/5\n');
    expect(stderr).not.toContain('retrying');
  });
});

describe('the done pattern', () => {
  it('S4.8 S4.44 S4.46 S4.52 S4.98 ends the loop when it matches the output of an agent that exits (T106)', async () => {
    const stage = openLoadedStage();
    stage.plans(2, 'echo "tests: 12 passed, 0 failed"');
    const args = ['-m', '9', '--done-pattern', String.raw`(?P<n>\d+) passed, 0 failed`];
    const { code, stderr } = await stage.run(...swarm, ...args);
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 2 });
    expect(stderr).toContain('[ralph] it: done pattern matched, stopping loop\n');
    expect(stage.state['status']).toBe('stopped');
    expect(stage.log).toContain('reason=done_pattern');
    stage.plans(3, 'echo "tests: 12 passed, 0 failed"');
    await stage.run(...swarm, '-m', '1');
    expect(stage.state).toMatchObject({ done_pattern: null, outcome: { type: 'iterations-exhausted' } });
  });

  it('S4.10 S4.11 ends the loop when an agent hangs after a match, without a restart (T106)', async () => {
    const stage = openLoadedStage();
    stage.plans(2, 'echo ALL DONE; sleep 300');
    const args = ['-m', '9', '--done-pattern', 'ALL DONE', '--inactivity-timeout', '1'];
    const { code, stderr } = await stage.run(...swarm, ...args);
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 2 });
    expect(stderr).toContain('[ralph] it: iteration 1 completed (exit: 0, ');
    expect(stderr).toContain('[ralph] it: done pattern matched, stopping loop\n');
    expect(stage.state['status']).toBe('stopped');
  });

  it('reports no restart after a match', async () => {
    const stage = openLoadedStage();
    stage.plans(1, 'echo ALL DONE; sleep 300');
    const args = ['-m', '9', '--done-pattern', 'ALL DONE', '--inactivity-timeout', '500ms'];
    expect((await stage.run(...swarm, ...args)).stderr).not.toContain('restarting');
  });
});
