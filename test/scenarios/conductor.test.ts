import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openStage, waitFor, type Stage } from './stage.ts';

const conductor = ['-p', 'work', '--preset', 'conductor', '--restart-delay', '0'];
const leavesDone = ': > "$TASK_FOLDER/DONE"';
const iterations = ({ journal }: Stage) =>
  journal.flatMap((event) => (event.type === 'iteration.started' ? [event['iteration']] : []));
const at = ({ journal }: Stage, type: string) =>
  journal.flatMap((event) => (event.type === type ? [event.at] : []));

/** The loop's folder with something in it before the loop begins. */
function prepared(stage: Stage): string {
  mkdirSync(stage.file(''), { recursive: true });
  return stage.file('DONE');
}

describe('restarts', () => {
  it('S1.1 S1.11 S1.12 S1.29 an agent that only ever exits 0 is run as often as allowed, then it is too much (T001)', async () => {
    const stage = openStage();
    const { code, stderr } = await stage.run(...conductor, '-m', '3');
    expect(code).toBe(1);
    expect(stderr).toContain('max restarts exceeded');
    expect(stage.calls).toBe(3);
    expect(iterations(stage)).toEqual([1, 2, 3]);
    expect(stage.state['status']).toBe('stopped');
  });

  it('S1.19 the DONE of the second call ends the loop (T002)', async () => {
    const stage = openStage();
    stage.plans(2, leavesDone);
    const { code, stderr } = await stage.run(...conductor, '-m', '9');
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 2 });
    expect(stderr).toContain('iteration 1 completed (exit: 0');
  });

  it('S1.12 no exit code is a reason to stop: 126 and 127 are run again too (T010)', async () => {
    const stage = openStage();
    stage.plans(1, 'exit 126');
    stage.plans(2, 'exit 127');
    stage.plans(3, 'exit 1');
    stage.plans(4, leavesDone);
    const { code } = await stage.run(...conductor);
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 4 });
    expect(stage.state).toMatchObject({ total_failures: 3, consecutive_failures: 0 });
  });

  it('S1.27 a DONE outranks the exit code of the run that left it (T003)', async () => {
    const stage = openStage();
    stage.plans(1, `${leavesDone}; exit 1`);
    const { code } = await stage.run(...conductor);
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 1 });
  });

  it('S1.15 S1.16 waits after every run, good or bad, and once more before it gives up (T006)', async () => {
    const stage = openStage();
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

describe('the marker', () => {
  it('S1.20 S1.26 one that somebody left beforehand is a success without a run, whatever it says (T004)', async () => {
    const stage = openStage();
    writeFileSync(prepared(stage), 'not done at all');
    const { code } = await stage.run(...conductor);
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 0 });
    expect(Number(at(stage, 'loop.ended')[0]) - Number(at(stage, 'loop.created')[0])).toBeLessThan(200);
  });

  it('S1.21 a folder in its place is an error, and no agent runs (T005)', async () => {
    const stage = openStage();
    mkdirSync(prepared(stage), { recursive: true });
    const { code, stderr } = await stage.run(...conductor);
    expect({ code, calls: stage.calls }).toEqual({ code: 3, calls: 0 });
    expect(stderr).toContain('DONE is a directory');
  });

  it('S1.22 one that cannot be looked at is an error too, one that is absent is none', async () => {
    const stage = openStage();
    const marker = prepared(stage);
    symlinkSync(marker, marker);
    const { code, stderr } = await stage.run(...conductor);
    expect({ code, calls: stage.calls }).toEqual({ code: 3, calls: 0 });
    expect(stderr).toContain('stat DONE: ');
  });

  it('S1.10 S1.11 with no restarts at all it is a failure, unless the marker is there (T005)', async () => {
    const stage = openStage();
    const without = await stage.run(...conductor, '-m', '0');
    expect({ code: without.code, calls: stage.calls }).toEqual({ code: 1, calls: 0 });
    await stage.ralph('rm', 'it').ended;
    writeFileSync(prepared(stage), '');
    const withIt = await stage.run(...conductor, '-m', '0');
    expect({ code: withIt.code, calls: stage.calls }).toEqual({ code: 0, calls: 0 });
  });

  it('S1.18 S1.20 one that a person touches while the loop waits is seen before the next run (T008)', async () => {
    const stage = openStage();
    const ralph = stage.starts('-p', 'work', '--preset', 'conductor', '--restart-delay', '1s');
    // Looked for before the run and after it: from here on the loop only waits.
    await stage.waitForEvents('probe.finished', 2);
    writeFileSync(stage.file('DONE'), '');
    expect((await ralph.ended).code).toBe(0);
    expect(stage.calls).toBe(1);
  });
});

describe('other ends', () => {
  it('S1.9 S1.17 cancelling during a long wait ends it at once, as cancelled, also when DONE has come (T007)', async () => {
    const stage = openStage();
    const ralph = stage.starts('-p', 'work', '--preset', 'conductor', '--restart-delay', '60s');
    // Looked for before the run and after it: from here on the loop only waits.
    await stage.waitForEvents('probe.finished', 2);
    writeFileSync(stage.file('DONE'), '');
    const began = performance.now();
    ralph.signal('SIGINT');
    const { code, stderr } = await ralph.ended;
    expect(performance.now() - began).toBeLessThan(1000);
    expect({ code, calls: stage.calls }).toEqual({ code: 130, calls: 1 });
    expect(stderr).toContain('cancelled by a signal');
  });

  it('S1.42 exit code 42 means: leave it to a person (T009)', async () => {
    const stage = openStage();
    stage.plans(1, 'exit 42');
    const { code, stderr } = await stage.run(...conductor);
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 1 });
    expect(stderr).toContain('Wait-without-restart signal detected');
    expect(stage.state).toMatchObject({ status: 'stopped', total_failures: 0 });
  });

  it('S1.42 so does the file WAIT_WITHOUT_RESTART (T009)', async () => {
    const stage = openStage();
    stage.plans(1, ': > "$TASK_FOLDER/WAIT_WITHOUT_RESTART"');
    const { code, stderr } = await stage.run(...conductor);
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 1 });
    expect(stderr).toContain('Wait-without-restart signal detected');
    expect(stage.state['status']).toBe('stopped');
  });

  it('a run that exits 42 and leaves DONE is done, and nobody has to look (T014)', async () => {
    const stage = openStage();
    stage.plans(1, `${leavesDone}; exit 42`);
    const { code, stderr } = await stage.run(...conductor);
    expect(code).toBe(0);
    expect(stderr).not.toContain('Wait-without-restart');
    expect(stage.state['outcome']).toMatchObject({ type: 'done' });
  });

  it('S1.44 S1.45 a command that goes away is fatal at once, and so is one that may not be executed any more (T010)', async () => {
    const stage = openStage();
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

describe('errors of a provider', () => {
  const fails = (result: string): string =>
    `echo '${JSON.stringify({ type: 'result', subtype: 'success', is_error: true, result })}'; exit 1`;
  const run = (stage: Stage) => {
    stage.installs('claude');
    return stage.ralph('run', '--name', 'it', ...conductor, '--agent', 'claude').ended;
  };

  it('S1.44 restarts the agent after a network error and a rate limit', async () => {
    const stage = openStage();
    stage.plans(1, fails('API Error: Connection error.'));
    stage.plans(2, fails('API Error: 429 Rate limit reached. Try again later.'));
    stage.plans(3, leavesDone);
    expect((await run(stage)).code).toBe(0);
    expect(stage.calls).toBe(3);
  });

  it('S1.44 stops with the error of an invalid API key', async () => {
    const stage = openStage();
    stage.plans('default', fails('Invalid API key · Please run /login'));
    const { code, stderr } = await run(stage);
    expect({ code, calls: stage.calls }).toEqual({ code: 3, calls: 1 });
    expect(stderr).toContain('Fatal error: Invalid API key');
  });
});

describe('processes', () => {
  it('S1.35 S1.36 what a run leaves in its group gets SIGTERM, five seconds, then SIGKILL (T018)', async () => {
    const stage = openStage();
    stage.plans(
      1,
      `sh -c 'trap "echo term > $FAKE_CALL/term; exit" TERM; : > $FAKE_CALL/ready; while :; do sleep 0.05; done' &
       (trap '' TERM; exec sleep 300) &
       while [ ! -e "$FAKE_CALL/ready" ]; do sleep 0.01; done
       ${leavesDone}`,
    );
    const { code } = await stage.run(...conductor);
    expect(code).toBe(0);
    expect(stage.given(1, 'term')).toBe('term\n');
    expect(stage.running).toEqual([]);
    expect(Number(at(stage, 'run.ended')[0]) - stage.modifiedAt(1, 'end')).toBeGreaterThanOrEqual(4990);
  });

  it('S1.37 what a failed run leaves is cleared away too, before the next one starts', async () => {
    const stage = openStage();
    stage.plans(1, 'sleep 300 & echo $! > "$FAKE_PLAN/left"; exit 1');
    stage.plans(2, `ps -o stat= -p "$(cat "$FAKE_PLAN/left")" > "$FAKE_CALL/left"; ${leavesDone}`);
    const { code } = await stage.run(...conductor);
    expect(code).toBe(0);
    // Nobody, or a zombie that its new parent has not buried yet.
    expect(stage.given(2, 'left').trim()).toMatch(/^(?:Z.*)?$/);
  });

  it('a run that takes too long is killed, counts as failed and is repeated (T020)', async () => {
    const stage = openStage();
    stage.plans(1, 'sleep 60');
    stage.plans(2, leavesDone);
    const { code } = await stage.run(...conductor, '--iteration-timeout', '500ms');
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 2 });
    expect(stage.has(1, 'end')).toBe(false);
    expect(stage.state).toMatchObject({ total_failures: 1, runs: 2 });
  });

  it('S1.39 and it is told as what it is: `agent timeout` (T020)', async () => {
    const stage = openStage();
    stage.plans(1, 'sleep 60');
    stage.plans(2, leavesDone);
    const { code, stderr } = await stage.run(...conductor, '--iteration-timeout', '500ms');
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 2 });
    expect(stderr).toMatch(/iteration 1 failed \(agent timeout/);
  });

  it('the agent knows its task folder, its run and its bus, by both names (T026)', async () => {
    const stage = openStage();
    stage.plans(1, leavesDone);
    await stage.run(...conductor);
    const env = new Map(
      stage
        .given(1, 'env')
        .split('\n')
        .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    );
    const folder = stage.file('').replace(/\/$/, '');
    expect(env.get('TASK_FOLDER')).toBe(folder);
    expect(env.get('JRUN_TASK_FOLDER')).toBe(folder);
    expect(env.get('RUN_FOLDER')).toBe(`${folder}/runs/0001`);
    expect(env.get('JRUN_RUN_FOLDER')).toBe(`${folder}/runs/0001`);
    expect(env.get('MESSAGE_BUS')).toBe(`${folder}/TASK-MESSAGE-BUS.md`);
    expect(env.get('JRUN_ID')).toMatch(/^it-.+\.1\.1$/);
    expect(stage.given(1, 'cwd').trim()).toBe(stage.workspace);
  });

  it('an agent that closes its stdin at once takes no harm from a prompt of 1 MB (T028)', async () => {
    const stage = openStage();
    stage.write('PROMPT.md', 'x'.repeat(1024 * 1024));
    const script = 'exec <&-; : > "$TASK_FOLDER/DONE"; echo fine';
    const args = ['-f', 'PROMPT.md', '--preset', 'conductor', '--', 'sh', '-c', script];
    const { code, stdout } = await stage.ralph('run', ...args).ended;
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'fine\n' });
  });

  it('the agent has a process group apart from ours, so that Ctrl-C reaches us alone', async () => {
    const stage = openStage();
    stage.plans(1, `ps -o pgid= -p $$ > "$FAKE_CALL/pgid"; ${waitFor()}; ${leavesDone}`);
    const ralph = stage.starts(...conductor);
    await stage.waitForCall(1, 'pgid');
    expect(stage.given(1, 'pgid').trim()).not.toBe(
      execFileSync('ps', ['-o', 'pgid=', '-p', String(ralph.pid)], { encoding: 'utf8' }).trim(),
    );
    stage.release();
    expect((await ralph.ended).code).toBe(0);
  });
});
