import { readFileSync, rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { rewriteJournal } from './rewrite-journal.ts';
import { openLoadedStage, openStage, waitFor, type Stage } from './stage.ts';

const swarm = ['-p', 'work', '--preset', 'swarm'];
const local = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d`;

describe('the done pattern', () => {
  it('S4.44 S4.46 S4.52 matches what a person sees, and not the echo of the prompt', async () => {
    const stage = openLoadedStage();
    stage.write('PROMPT.md', 'Take the next task. Print "All tasks complete" when none is left.\n');
    const echo = 'prompt=$(cat); printf "\\033[2m12:00 received\\033[0m %s\\r\\n" "$prompt"';
    stage.plans('default', echo);
    stage.plans(2, `${echo}; printf '10%%\\rAll \\033[32mtasks'; printf '\\033[0m complete\\r\\n'`);
    const pattern = ['--done-pattern', '(?m)All tasks complete$'];
    const { code, stderr } = await stage.run('-f', 'PROMPT.md', '--preset', 'swarm', '-m', '5', ...pattern);
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 2 });
    expect(stderr).toContain('[ralph] it: done pattern matched, stopping loop\n');
    const loose = ['--done-pattern', 'All tasks complete'];
    stage.plans(2, echo);
    const other = await stage.run('-f', 'PROMPT.md', '--preset', 'swarm', '-m', '2', '--force', ...loose);
    expect(other.stderr).not.toContain('done pattern matched');
  });
});

describe('iterations', () => {
  it('S4.21 S4.22 S4.48 S4.50 S4.55 S4.77 run one after the other, are reported, and get the current prompt file (T101)', async () => {
    const stage = openLoadedStage();
    stage.write('PROMPT.md', 'first');
    stage.plans(3, 'printf second > PROMPT.md');
    const { code, stderr } = await stage.run('-f', 'PROMPT.md', '--preset', 'swarm', '-m', '4');
    expect(code).toBe(0);
    expect(stderr.split('\n').filter((line) => line.startsWith('[ralph] it:'))).toEqual([
      ...[1, 2, 3, 4].flatMap((n) => [
        `[ralph] it: starting iteration ${n}/4`,
        `[ralph] it: iteration ${n} completed (exit: 0, duration: 0s)`,
      ]),
      '[ralph] it: loop complete after 4 iterations',
    ]);
    expect([1, 2, 3, 4].map((call) => stage.given(call, 'stdin'))).toEqual([
      'first',
      'first',
      'first',
      'second',
    ]);
    expect(stage.state['status']).toBe('stopped');
  });

  it('S4.9 are counted from 0, read the prompt file again and log every start', async () => {
    const stage = openLoadedStage();
    stage.write('PROMPT.md', 'first');
    stage.plans(1, 'printf second > PROMPT.md');
    const check = 'cat .ralph/loops/it/state.json >>"$FAKE_PLAN/states"';
    const args = ['-f', 'PROMPT.md', '--preset', 'swarm', '-m', '2', '--until', 'claim'];
    await stage.run(...args, '--baseline', '--check', check);
    const states = readFileSync(`${stage.plan}/states`, 'utf8');
    expect(/"current_iteration": (\d+)/.exec(states)?.[1]).toBe('0');
    expect(stage.state['current_iteration']).toBe(2);
    expect([1, 2].map((call) => stage.given(call, 'stdin').split('\n')[0])).toEqual(['first', 'second']);
    expect(stage.log.match(new RegExp(`^${local} \\[START\\] iteration [12]/2$`, 'gm'))).toHaveLength(2);
  });

  it('S4.74 share one worktree', async () => {
    const stage = openLoadedStage();
    stage.git('config', 'user.name', 't');
    stage.git('config', 'user.email', 't@t');
    stage.plans('default', 'echo "$RALPH_ITERATION" >>work');
    const { code } = await stage.run(...swarm, '-m', '2', '--worktree');
    const [first, second] = [1, 2].map((call) => stage.given(call, 'cwd').trim());
    expect({ code, second }).toEqual({ code: 0, second: first });
    expect(first).not.toBe(stage.workspace);
    expect(readFileSync(`${first}/work`, 'utf8')).toBe('1\n2\n');
  });

  it('S4.28 are recorded in state.json with the documented fields (T101)', async () => {
    const stage = openLoadedStage();
    stage.write('PROMPT.md', 'x');
    await stage.run('-f', 'PROMPT.md', '--preset', 'swarm', '-m', '2', '--done-pattern', 'never');
    const precise = new RegExp(`^${local}\\.\\d{6}$`);
    expect(stage.state).toMatchObject({
      worker_name: 'it',
      prompt_file: stage.path('PROMPT.md'),
      max_iterations: 2,
      current_iteration: 2,
      status: 'stopped',
      consecutive_failures: 0,
      total_failures: 0,
      done_pattern: 'never',
      inactivity_timeout: 60,
    });
    expect(stage.state['started']).toMatch(precise);
    expect(stage.state['last_iteration_started']).toMatch(precise);
  });

  it('S4.30 have a line in iterations.log for every start and end (T101)', async () => {
    const stage = openLoadedStage();
    await stage.run(...swarm, '-m', '2');
    expect(stage.log).toMatch(
      new RegExp(
        `^${[
          `${local} \\[START\\] iteration 1/2`,
          `${local} \\[END\\] iteration 1 exit=0 duration=\\ds`,
          `${local} \\[START\\] iteration 2/2`,
          `${local} \\[END\\] iteration 2 exit=0 duration=\\ds`,
          `${local} \\[DONE\\] loop complete after 2 iterations reason=max_iterations`,
        ].join('\n')}\n$`,
      ),
    );
  });

  it('S4.30 S4.32 S4.49 continue after the owner died; long durations have a space on the console and none in the log', async () => {
    const stage = openStage();
    stage.plans(1, waitFor());
    const ralph = stage.starts(...swarm, '-m', '2');
    await stage.waitForCall(1);
    ralph.signal('SIGKILL');
    expect((await ralph.ended).code).toBe('SIGKILL');
    backdate(stage, 222_000);
    const resumed = stage.ralph('resume', 'it');
    await stage.waitForEvents('owner.changed');
    stage.release();
    const { code, stderr } = await resumed.ended;
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 2 });
    expect(stderr).toMatch(/^\[ralph\] it: iteration 1 completed \(exit: 0, duration: 3m 4\ds\)$/m);
    expect(stage.log).toMatch(/\[END\] iteration 1 exit=0 duration=3m4\ds$/m);
  });

  it('are reported with their number after a resume', async () => {
    const stage = openStage();
    stage.plans(1, waitFor());
    const ralph = stage.starts(...swarm, '-m', '1');
    await stage.waitForCall(1);
    ralph.signal('SIGKILL');
    await ralph.ended;
    const crashed = stage.ralph('resume', 'it');
    await stage.waitForEvents('owner.changed');
    stage.release();
    expect((await crashed.ended).stderr).toContain('[ralph] it: reattached to the agent of iteration 1/1');
    const ended = await stage.ralph('resume', 'it', '-m', '2').ended;
    expect(ended.stderr).toContain('[ralph] it: resumed after iteration 1/2');
  });

  it('are continued without a word of their agent if that has exited meanwhile', async () => {
    const stage = openStage();
    stage.plans(1, waitFor());
    const ralph = stage.starts(...swarm, '-m', '1');
    await stage.waitForCall(1);
    ralph.signal('SIGKILL');
    await ralph.ended;
    stage.release();
    await stage.waitForFile(stage.files('it').path('runs', '0001', 'exit'));
    const { code, stderr } = await stage.ralph('resume', 'it').ended;
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 1 });
    expect(stderr).toContain('[ralph] it: continuing at iteration 1/1, whose agent is no longer running\n');
    expect(stderr).not.toContain('reattached');
  });

  it('after a resume do not report the new owner as a leftover process', async () => {
    const stage = openStage();
    stage.plans(1, waitFor());
    const ralph = stage.starts(...swarm, '-m', '1');
    await stage.waitForCall(1);
    ralph.signal('SIGKILL');
    await ralph.ended;
    const resumed = stage.process('resume', 'it');
    await stage.waitForEvents('owner.changed');
    stage.release();
    expect((await resumed.ended).stderr).not.toContain('left behind');
  });

  it('S4.11 S4.100 all end before the loop is complete (T102)', async () => {
    const stage = openLoadedStage();
    stage.plans(2, waitFor());
    const ralph = stage.starts(...swarm, '-m', '2');
    await stage.waitForCall(2);
    expect(ralph.stderr).not.toContain('loop complete');
    stage.release();
    const { code, stderr } = await ralph.ended;
    expect(code).toBe(0);
    expect(stage.has(2, 'end')).toBe(true);
    expect(stderr).toMatch(/iteration 2 completed .*\n.*loop complete after 2 iterations/);
  });

  it('S4.33 obey a limit that was edited in state.json (T119)', async () => {
    const stage = openLoadedStage();
    stage.plans(
      1,
      `sed -i 's/"max_iterations": 2/"max_iterations": 4/' .ralph/loops/it/state.json; echo edited`,
    );
    const { code, stderr } = await stage.run(...swarm, '-m', '2');
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 4 });
    expect(stderr).toContain('loop complete after 4 iterations');
  });

  it('S4.33 obey an edited limit also if events follow the edit (T119)', async () => {
    const stage = openLoadedStage();
    stage.plans(
      1,
      `sed -i 's/"max_iterations": 2/"max_iterations": 4/' .ralph/loops/it/state.json; echo edited`,
    );
    const { code } = await stage.run(...swarm, '-m', '2', '--restart-delay', '200ms');
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 4 });
  });

  it('keep their count if state.json is emptied, and Ralph writes it again (T124)', async () => {
    const stage = openLoadedStage();
    stage.plans(2, ': > .ralph/loops/it/state.json');
    const { code } = await stage.run(...swarm, '-m', '3');
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 3 });
    expect(stage.state).toMatchObject({ current_iteration: 3, max_iterations: 3, runs: 3 });
  });
});

describe('the prompt file', () => {
  it('S4.25 is relative to the current folder, also with --cwd (T116)', async () => {
    const stage = openLoadedStage();
    stage.write('PROMPT.md', 'from here');
    stage.write('elsewhere/PROMPT.md', 'not this one');
    const args = ['-f', 'PROMPT.md', '--cwd', 'elsewhere', '--preset', 'swarm', '-m', '1'];
    const { code } = await stage.ralph('run', ...args, '--', stage.agent).ended;
    expect(code).toBe(0);
    expect(stage.given(1, 'stdin')).toBe('from here');
    expect(stage.given(1, 'cwd').trim()).toBe(stage.path('elsewhere'));
  });

  it('S4.26 may be empty, and the agent gets it as it is (T116)', async () => {
    const stage = openLoadedStage();
    stage.write('PROMPT.md', '');
    const { code } = await stage.run('-f', 'PROMPT.md', '--preset', 'swarm', '-m', '1');
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 1 });
    expect(stage.given(1, 'stdin')).toBe('');
  });

  it('S4.23 that disappears ends the loop as failed, with exit code 1 and the documented message (T114)', async () => {
    const stage = openLoadedStage();
    stage.write('PROMPT.md', 'x');
    stage.plans(1, 'rm PROMPT.md');
    const { code, stderr } = await stage.run('-f', 'PROMPT.md', '--preset', 'swarm', '-m', '5');
    expect({ code, calls: stage.calls }).toEqual({ code: 1, calls: 1 });
    expect(stage.state['status']).toBe('failed');
    expect(stderr).toContain(`ralph: error: prompt file not found: ${stage.path('PROMPT.md')}\n`);
  });

  it('S4.24 that becomes unreadable ends the loop as failed, with exit code 1 (T114)', async () => {
    const stage = openLoadedStage();
    stage.write('PROMPT.md', 'x');
    stage.plans(1, 'rm PROMPT.md; mkdir PROMPT.md');
    const { code, stderr } = await stage.run('-f', 'PROMPT.md', '--preset', 'swarm', '-m', '5');
    expect({ code, calls: stage.calls }).toEqual({ code: 1, calls: 1 });
    expect(stage.state['status']).toBe('failed');
    expect(stderr).toContain(`ralph: error: cannot read prompt file: ${stage.path('PROMPT.md')}`);
  });
});

describe('the state of a loop', () => {
  it('can be deleted without any other clean-up', async () => {
    const stage = openLoadedStage();
    await stage.run(...swarm, '-m', '1');
    rmSync(stage.files('it').state, { recursive: true });
    expect((await stage.ralph('ls').ended).stdout).toBe('');
    expect((await stage.ralph('ls', '--all').ended).stdout).toBe('');
    expect((await stage.run(...swarm, '-m', '1')).code).toBe(0);
  });
});

/** Moves all events of the journal into the past, as if the loop had started earlier. */
function backdate(stage: Stage, ms: number): void {
  rewriteJournal(stage, (event) => ({ ...event, at: event.at - ms }));
}
