import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ownPosts } from '../rig/own-posts.ts';
import { openLoadedStage, openStage, waitFor, type Stage } from './stage.ts';

const conductor = ['-p', 'work', '--preset', 'conductor', '--restart-delay', '0'];
const createsDone = ': > "$TASK_FOLDER/DONE"';
/** What the loop said, without its prefix. */
const linesOf = (stderr: string): readonly string[] =>
  stderr.split('\n').flatMap((line) => /^(?:\[.*?\] )?\[ralph\] it: (.*)$/.exec(line)?.[1] ?? []);
const at = ({ journal }: Stage, type: string) =>
  journal.flatMap((event) => (event.type === type ? [event.at] : []));

/** Creates the loop's folder before the loop starts, and returns the path of its DONE marker. */
function prepareMarker(stage: Stage): string {
  mkdirSync(stage.file(''), { recursive: true });
  return stage.file('DONE');
}

describe('restarts', () => {
  it('S1.1 S1.8 S1.11 S1.12 S1.14 S1.29 end with an error at the limit if the agent only ever exits 0 (T001)', async () => {
    const stage = openLoadedStage();
    const { code, stderr } = await stage.run(...conductor, '-m', '3');
    expect(code).toBe(1);
    expect(stderr).toContain('max restarts exceeded');
    expect(stage.calls).toBe(3);
    const steps = stage.journal.flatMap(({ type, phase }) =>
      ['probe.finished', 'run.started', 'timer.fired', 'loop.ended'].includes(type)
        ? [typeof phase === 'string' ? `DONE? ${phase}` : type]
        : [],
    );
    const turn = ['DONE? before', 'run.started', 'DONE? after', 'timer.fired'];
    expect(steps).toEqual([...turn, ...turn, ...turn, 'DONE? before', 'loop.ended']);
    expect(stage.state['status']).toBe('stopped');
  });

  it('S1.19 end when the second run creates DONE (T002)', async () => {
    const stage = openLoadedStage();
    stage.plans(2, createsDone);
    const { code, stderr } = await stage.run(...conductor, '-m', '9');
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 2 });
    expect(stderr).toContain('iteration 1 completed (exit: 0');
  });

  it('S1.12 follow every exit code, including 126 and 127 (T010)', async () => {
    const stage = openLoadedStage();
    stage.plans(1, 'exit 126');
    stage.plans(2, 'exit 127');
    stage.plans(3, 'exit 1');
    stage.plans(4, createsDone);
    const { code } = await stage.run(...conductor);
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 4 });
    expect(stage.state).toMatchObject({ total_failures: 3, consecutive_failures: 0 });
  });

  it('S1.13 S1.27 S1.31 S1.51 end when a run creates DONE, whatever its exit code, and none is announced (T003)', async () => {
    const stage = openLoadedStage();
    stage.plans(1, `${createsDone}; exit 1`);
    const { code, stderr } = await stage.run(...conductor);
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 1 });
    expect(stderr).toContain('WARNING: agent failed on restart #0: agent exited with code 1');
    expect(stderr).not.toContain('restarting');
    expect(ownPosts(stage.file(''))).toEqual([
      'INFO starting root agent (restart #0)',
      'WARNING root agent failed on restart #0: agent exited with code 1',
      'INFO task completed (DONE marker present, no active children)',
    ]);
  });

  it('S1.15 S1.16 wait for the delay after every run, and once more before giving up (T006)', async () => {
    const stage = openLoadedStage();
    stage.plans(2, 'exit 1');
    const { code } = await stage.run(
      '-p',
      'work',
      '--preset',
      'conductor',
      '--restart-delay',
      '300ms',
      '-m',
      '3',
    );
    expect({ code, calls: stage.calls }).toEqual({ code: 1, calls: 3 });
    expect(stage.modifiedAt(2, 'cwd') - stage.modifiedAt(1, 'end')).toBeGreaterThanOrEqual(300);
    expect(stage.modifiedAt(3, 'cwd') - stage.modifiedAt(2, 'end')).toBeGreaterThanOrEqual(300);
    expect(Number(at(stage, 'loop.ended')[0]) - Number(at(stage, 'run.ended')[2])).toBeGreaterThanOrEqual(
      300,
    );
  });
});

describe('the DONE marker', () => {
  it('S1.20 S1.24 S1.26 that exists beforehand is a success without a run, whatever its content (T004)', async () => {
    const stage = openLoadedStage();
    writeFileSync(prepareMarker(stage), 'not done at all');
    const { code } = await stage.run(...conductor);
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 0 });
    expect(ownPosts(stage.file(''))).toEqual([
      'INFO task completed (DONE marker present, no active children)',
    ]);
  });

  it('S1.26 is a success without a run also after the task has ended before, done or not (T004 T035)', async () => {
    const stage = openLoadedStage();
    stage.plans(1, createsDone);
    expect((await stage.run(...conductor)).code).toBe(0);
    const again = await stage.run(...conductor);
    expect({ code: again.code, calls: stage.calls }).toEqual({ code: 0, calls: 1 });
    expect(again.stderr).toContain(
      `DONE of the earlier loop still says that the task is done; to work on it again, remove ${stage.file('DONE')}, or use --fresh`,
    );
    expect((await stage.run(...conductor)).code).toBe(0);
    expect(stage.calls).toBe(1);

    rmSync(stage.file('DONE'));
    expect((await stage.run(...conductor, '-m', '1')).code).toBe(1);
    expect(stage.calls).toBe(2);
    writeFileSync(stage.file('DONE'), '');
    expect((await stage.run(...conductor)).code).toBe(0);
    expect(stage.calls).toBe(2);
    expect((await stage.run(...conductor, '--fresh', '-m', '1')).code).toBe(1);
    expect(stage.calls).toBe(3);
  });

  it('S1.21 that is a folder is an error, and no agent runs (T005)', async () => {
    const stage = openLoadedStage();
    mkdirSync(prepareMarker(stage), { recursive: true });
    const { code, stderr } = await stage.run(...conductor);
    expect({ code, calls: stage.calls }).toEqual({ code: 3, calls: 0 });
    expect(stderr).toContain('DONE is a directory');
  });

  it('S1.22 that cannot be inspected is an error, unlike an absent one', async () => {
    const stage = openLoadedStage();
    const marker = prepareMarker(stage);
    symlinkSync(marker, marker);
    const { code, stderr } = await stage.run(...conductor);
    expect({ code, calls: stage.calls }).toEqual({ code: 3, calls: 0 });
    expect(stderr).toContain('stat DONE: ');
  });

  it('S1.10 S1.11 decides between success and failure if no run is allowed (T005)', async () => {
    const stage = openLoadedStage();
    const without = await stage.run(...conductor, '-m', '0');
    expect({ code: without.code, calls: stage.calls }).toEqual({ code: 1, calls: 0 });
    await stage.ralph('rm', 'it').ended;
    writeFileSync(prepareMarker(stage), '');
    const withIt = await stage.run(...conductor, '-m', '0');
    expect({ code: withIt.code, calls: stage.calls }).toEqual({ code: 0, calls: 0 });
  });

  it('S1.18 S1.20 that a person creates during the delay is found before the next run (T008)', async () => {
    const stage = openLoadedStage();
    const ralph = stage.starts('-p', 'work', '--preset', 'conductor', '--restart-delay', '1s');
    // After the second probe, which follows the run, the loop only waits.
    await stage.waitForEvents('probe.finished', 2);
    writeFileSync(stage.file('DONE'), '');
    expect((await ralph.ended).code).toBe(0);
    expect(stage.calls).toBe(1);
  });
});

describe('a conductor loop', () => {
  it('S1.9 S1.17 ends at once as cancelled when a signal interrupts a long delay, even if DONE exists (T007)', async () => {
    const stage = openStage();
    const ralph = stage.starts('-p', 'work', '--preset', 'conductor', '--restart-delay', '60s');
    // After the second probe, which follows the run, the loop only waits.
    await stage.waitForEvents('probe.finished', 2);
    writeFileSync(stage.file('DONE'), '');
    const began = performance.now();
    ralph.signal('SIGINT');
    const { code, stderr } = await ralph.ended;
    // Half of the delay.
    expect(performance.now() - began).toBeLessThan(30_000);
    expect({ code, calls: stage.calls }).toEqual({ code: 130, calls: 1 });
    expect(stderr).toContain('cancelled by SIGINT');
  });

  it.each([
    ['exits with 42', 'exit 42'],
    ['creates WAIT_WITHOUT_RESTART', ': > "$TASK_FOLDER/WAIT_WITHOUT_RESTART"; exit 1'],
    [
      'posts a message of the type wait_without_restart',
      '$RALPH bus post --type wait_without_restart "a person"',
    ],
  ])('S1.41 S1.42 S1.43 hands over to a person when a run %s (T009)', async (_, script) => {
    const stage = openLoadedStage();
    stage.env['RALPH'] = `${process.execPath} ${stage.main}`;
    stage.plans(1, script);
    const { code, stderr } = await stage.run(...conductor);
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 1 });
    expect(stderr).toContain('Wait-without-restart signal detected');
    expect(stage.state['status']).toBe('stopped');
    expect(stage.read('.ralph/loops/it/runs/0001/run-info.yaml')).toContain('status: stopped\n');
  });

  it('S1.8 S1.41 is done, without a hand-over, when a run exits 42 and creates DONE (T014)', async () => {
    const stage = openLoadedStage();
    stage.plans(1, `${createsDone}; exit 42`);
    const { code, stderr } = await stage.run(...conductor);
    expect(code).toBe(0);
    expect(stderr).not.toContain('Wait-without-restart');
    expect(stage.state['outcome']).toMatchObject({ type: 'done' });
  });

  it('S1.44 S1.45 S1.46 ends with a fatal error when the agent command disappears or is no longer executable (T010)', async () => {
    const stage = openLoadedStage();
    stage.plans('default', `rm "${stage.agent}"`);
    const gone = await stage.run(...conductor);
    expect({ code: gone.code, calls: stage.calls }).toEqual({ code: 3, calls: 1 });
    expect(gone.stderr).toContain(`Fatal error: agent command not found: ${stage.agent}`);

    writeFileSync(stage.agent, `#!/bin/sh\nchmod a-x "$0"\n`);
    chmodSync(stage.agent, 0o755);
    const locked = await stage.run(...conductor);
    expect(locked.code).toBe(3);
    expect(locked.stderr).toContain(`Fatal error: agent command is not executable: ${stage.agent}`);
    expect(stage.state).toMatchObject({ runs: 2, status: 'failed' });
  });
});

describe('the console of a conductor loop', () => {
  const DATED = /^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] \[ralph\] it: Attempt 2: Agent succeeded$/m;

  it('S1.13 S1.28 S1.31 S1.32 S1.33 S1.46 S1.51 has the attempts, their errors and restarts, and the limit (T011 T016)', async () => {
    const stage = openLoadedStage();
    stage.plans(1, 'exit 1');
    stage.plans(3, 'exit 7');
    const { stderr } = await stage.run(...conductor, '-m', '3', '--timestamps');
    expect(stderr).toMatch(DATED);
    expect(stderr).toMatch(/^\[\d{4}-.{14}\] \[ralph\] Agent command: /);
    expect(linesOf(stderr).filter((line) => !line.startsWith('iteration 2 completed'))).toEqual([
      'starting iteration 1/3',
      'WARNING: agent failed on restart #0: agent exited with code 1',
      'Transient error: agent exited with code 1',
      'Attempt 1: Agent failed (exit 1), restarting...',
      'Agent failed with exit code 1, restarting (attempt 2/3)',
      'starting iteration 2/3',
      'Attempt 2: Agent succeeded',
      'starting iteration 3/3',
      'WARNING: agent failed on restart #2: agent exited with code 7',
      'Transient error: agent exited with code 7',
      'Attempt 3: Max restarts exceeded, stopping',
    ]);
    expect(ownPosts(stage.file('')).at(-1)).toBe('ERROR task failed: max restarts (3) exceeded');
  });
});

describe('after a provider error, a loop', () => {
  const fails = (result: string): string =>
    `echo '${JSON.stringify({ type: 'result', subtype: 'success', is_error: true, result })}'; exit 1`;
  const run = (stage: Stage) => {
    stage.installs('claude');
    return stage.ralph('run', '--name', 'it', ...conductor, '--agent', 'claude').ended;
  };

  it('S1.44 restarts the agent if it was a network error or a rate limit', async () => {
    const stage = openLoadedStage();
    stage.plans(1, fails('API Error: Connection error.'));
    stage.plans(2, fails('API Error: 429 Rate limit reached. Try again later.'));
    stage.plans(3, createsDone);
    expect((await run(stage)).code).toBe(0);
    expect(stage.calls).toBe(3);
  });

  it('S1.44 stops if the API key is invalid', async () => {
    const stage = openLoadedStage();
    stage.plans('default', fails('Invalid API key · Please run /login'));
    const { code, stderr } = await run(stage);
    expect({ code, calls: stage.calls }).toEqual({ code: 3, calls: 1 });
    expect(stderr).toContain('Fatal error: Invalid API key');
  });
});

describe('processes of an agent', () => {
  it('S1.35 S1.36 that outlive a run get SIGTERM, and SIGKILL five seconds later (T018)', async () => {
    const stage = openLoadedStage();
    stage.plans(
      1,
      `sh -c 'trap "echo term > $FAKE_CALL/term; exit" TERM; : > $FAKE_CALL/ready; while :; do sleep 0.05; done' &
       (trap '' TERM; : > "$FAKE_CALL/deaf"; exec sleep 300) &
       while [ ! -e "$FAKE_CALL/ready" ] || [ ! -e "$FAKE_CALL/deaf" ]; do sleep 0.01; done
       ${createsDone}`,
    );
    const { code } = await stage.run(...conductor);
    expect(code).toBe(0);
    expect(stage.given(1, 'term')).toBe('term\n');
    expect(stage.running).toEqual([]);
    expect(Number(at(stage, 'run.ended')[0]) - stage.modifiedAt(1, 'end')).toBeGreaterThanOrEqual(4990);
  });

  it('S1.37 that outlive a failed run are killed before the next run starts', { tags: ['ps'] }, async () => {
    const stage = openLoadedStage();
    stage.plans(1, 'sleep 300 & echo $! > "$FAKE_PLAN/left"; exit 1');
    stage.plans(2, `ps -o stat= -p "$(cat "$FAKE_PLAN/left")" > "$FAKE_CALL/left"; ${createsDone}`);
    const { code } = await stage.run(...conductor);
    expect(code).toBe(0);
    // No process, or a zombie that its new parent has not reaped yet.
    expect(stage.given(2, 'left').trim()).toMatch(/^(?:Z.*)?$/);
  });

  it('S1.39 S1.40 that exceed --iteration-timeout are killed, and the run counts as failed and is retried (T020)', async () => {
    const stage = openLoadedStage();
    stage.plans(1, 'sleep 60');
    stage.plans(2, createsDone);
    const { code, stderr } = await stage.run(...conductor, '--iteration-timeout', '1s');
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 2 });
    expect(stage.has(1, 'end')).toBe(false);
    expect(readFileSync(stage.path('.ralph/loops/it/runs/0001/run-info.yaml'), 'utf8')).toMatch(
      /^exit_code: 143\nstatus: failed\n(?:.*\n)*error_summary: timed out\n/m,
    );
    expect(stage.state).toMatchObject({ total_failures: 1, runs: 2 });
    expect(linesOf(stderr).slice(1, 6)).toEqual([
      'Agent timeout after 1s, killing process group',
      'Process group killed, treating as failure',
      'WARNING: agent failed on restart #0: agent timeout',
      'Transient error: agent timeout',
      'Restarting agent (attempt 2/100)',
    ]);
  });

  it('S1.70 may close stdin before they read a prompt of 1 MB (T028)', async () => {
    const stage = openLoadedStage();
    stage.write('PROMPT.md', 'x'.repeat(1024 * 1024));
    const script = 'exec <&-; : > "$TASK_FOLDER/DONE"; echo fine';
    const args = ['-f', 'PROMPT.md', '--preset', 'conductor', '--', 'sh', '-c', script];
    const { code, stdout } = await stage.ralph('run', ...args).ended;
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'fine\n' });
  });

  it('have their own process group, so that Ctrl-C reaches only Ralph', { tags: ['ps'] }, async () => {
    const stage = openStage();
    stage.plans(1, `ps -o pgid= -p $$ > "$FAKE_CALL/pgid"; ${waitFor()}; ${createsDone}`);
    const ralph = stage.starts(...conductor);
    await stage.waitForCall(1, 'pgid');
    expect(stage.given(1, 'pgid').trim()).not.toBe(
      execFileSync('ps', ['-o', 'pgid=', '-p', String(ralph.pid)], { encoding: 'utf8' }).trim(),
    );
    stage.release();
    expect((await ralph.ended).code).toBe(0);
  });
});
