/** The commands of document 003 around a loop: ls, wait, kill and logs. */
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import { openLoadedStage, openStage, waitFor } from './stage.ts';

const swarm = ['-p', 'work', '--preset', 'swarm'];

it('S4.29 S4.67 S4.70 S4.90 S4.91 S4.96 ls has formats and filters, and wait tells whether a loop has ended (T121)', async () => {
  const stage = openLoadedStage();
  expect(await stage.ralph('ls', '--format', 'names').ended).toMatchObject({ code: 0, stdout: '' });
  await stage.ralph('run', '--name', 'earlier', ...swarm, '-m', '1', '--', stage.agent).ended;
  stage.plans(3, waitFor());
  const ralph = stage.starts(...swarm, '-m', '2', '--tag', 'night', '--tag', 'api');
  await stage.waitForCall(3);

  const list = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await stage.ralph('ls', ...args).ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return stdout;
  };
  expect(await list('--format', 'names')).toBe('earlier\nit\n');
  expect(await list('--format', 'names', '--status', 'running')).toBe('it\n');
  expect(await list('--format', 'names', '--status', 'stopped')).toBe('earlier\n');
  expect(await list('--status', 'failed')).toBe('');
  expect(await list('--format', 'names', '--status', 'iterations-exhausted')).toBe('earlier\n');
  expect(await list('--format', 'names', '--status', 'done')).toBe('');
  const ofStatus = (word: string, ...more: readonly string[]) =>
    stage.ralph('status', '--status', word, ...more).ended;
  expect((await ofStatus('iterations-exhausted')).stdout).toMatch(/^NAME .*\nearlier +iteration limit .*\n$/);
  expect((await ofStatus('running')).stdout).toMatch(/^NAME .*\nit +running .*\n$/);
  expect(JSON.parse((await ofStatus('stopped', '--json')).stdout)).toMatchObject([{ name: 'earlier' }]);
  for (const command of ['ls', 'status']) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other keeps the machine free
    const { code, stderr } = await stage.ralph(command, '--status', 'over').ended;
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /--status must be .*running.*paused.*stopped.*failed.*crashed.*done.*, got "over"/,
    );
  }
  expect((await ofStatus('running', 'it')).stderr).toContain('cannot use --status with the name of a loop');
  expect(await list('--format', 'names', '--tag', 'api')).toBe('it\n');
  expect(await list()).toMatch(
    /^NAME +STATE +ITER +AGE +AGENT +(?:BRANCH +)?TAG +TASK +REASON\nearlier .*\nit +running +2\/2 .* night,api /,
  );
  expect(await list('--format', 'table')).toMatch(
    /^NAME +STATUS +PID\/WINDOW +STARTED +WORKTREE +TAG\nearlier +stopped +- +\d+s +- +-\nit +running +\d+ +\d+s +- +night,api\n$/,
  );
  const json = await list('--format', 'json');
  expect(json).toMatch(/"started": "\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}"/);
  expect(json).toMatch(/"pid": \d+/);
  expect(JSON.parse(json)).toMatchObject([
    { name: 'earlier', status: 'stopped', pid: null, metadata: { ralph: true, ralph_iteration: 1 } },
    {
      name: 'it',
      status: 'running',
      cmd: [stage.agent],
      cwd: stage.workspace,
      tags: ['night', 'api'],
      tmux: null,
      worktree: null,
      metadata: { ralph: true, ralph_iteration: 2 },
    },
  ]);
  const shown = (await stage.ralph('status', 'it').ended).stdout;
  expect(shown).toContain('\nTags: night, api\n');
  expect(shown).not.toContain('Done pattern');

  const late = await stage.ralph('wait', '--all', '--timeout', '0.1').ended;
  expect(late).toMatchObject({ code: 1, stdout: 'it: still running (timeout)\n' });
  const waits = stage.ralph('wait', 'it');
  stage.release();
  expect(await waits.ended).toMatchObject({ code: 0, stdout: 'it: exited\n' });
  expect((await ralph.ended).code).toBe(0);
  expect((await stage.ralph('wait', '--all').ended).stdout).toBe('');
});

it('list is ls', async () => {
  const stage = openLoadedStage();
  await stage.run(...swarm, '-m', '1');
  for (const args of [[], ['--all'], ['--format', 'names'], ['--json'], ['--status', 'stopped']]) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other keeps the machine free
    const [ls, list] = [await stage.ralph('ls', ...args).ended, await stage.ralph('list', ...args).ended];
    expect({ args, ...list }).toEqual({ args, ...ls });
    expect(list.stdout).toContain('it');
  }
  expect((await stage.ralph('help', 'list').ended).stdout).toContain('Usage: ralph ls|list');
});

it('S4.72 S4.80 S4.95 S4.98 kill ends a running loop, a paused one and one without an owner, and frees the name (T114)', async () => {
  const stage = openStage();
  stage.plans('default', waitFor('never'));
  const ralph = stage.starts(...swarm, '-m', '9');
  await stage.waitForCall(1);
  expect(await stage.ralph('kill', 'it').ended).toEqual({ code: 0, stdout: 'killed it\n', stderr: '' });
  expect([(await ralph.ended).code, stage.has(1, 'end')]).toEqual([130, false]);
  expect(stage.state['status']).toBe('stopped');
  expect(stage.log).toContain('[DONE] loop complete after 1 iterations reason=killed\n');
  expect((await stage.ralph('kill', 'it').ended).stderr).toBe('ralph: warning: loop it has already ended\n');

  stage.plans(2, 'exit 1');
  const waiting = stage.starts(...swarm, '-m', '5');
  await waiting.until('retrying in 1s');
  await stage.ralph('pause', 'it').ended;
  expect((await waiting.ended).code).toBe(0);
  expect((await stage.ralph('wait', 'it').ended).stdout).toBe(
    'it: paused; continue it with: ralph resume it\n',
  );
  expect((await stage.ralph('kill', '--all').ended).stdout).toBe('killed it\n');
  expect(stage.state).toMatchObject({ status: 'stopped', max_iterations: 5 });

  const crashed = stage.starts(...swarm, '-m', '7');
  await stage.waitForCall(3);
  crashed.signal('SIGKILL');
  await crashed.ended;
  expect((await stage.ralph('kill', 'it').ended).stdout).toBe('killed it\n');
  expect(stage.state).toMatchObject({ status: 'stopped', max_iterations: 7 });
  expect([stage.calls, stage.running]).toEqual([3, []]);
  expect((await stage.ralph('kill').ended).code).toBe(2);
});

it('S4.72 kill ends a backoff at once', async () => {
  const stage = openLoadedStage();
  stage.plans('default', 'exit 1');
  const ralph = stage.starts(...swarm, '-m', '9');
  await ralph.until('retrying in 2s');
  expect((await stage.ralph('kill', 'it').ended).stdout).toBe('killed it\n');
  expect((await ralph.ended).code).toBe(130);
  expect(stage.calls).toBe(2);
});

it('S4.95 S4.103 kill --rm-worktree keeps a dirty worktree with a warning, unless --force-dirty is given', async () => {
  const stage = openLoadedStage();
  stage.identifies();
  stage.plans('default', `echo work > new; ${waitFor('never')}`);
  const ralph = stage.starts(...swarm, '-m', '1', '--worktree');
  await stage.waitForCall(1);
  const tree = stage.given(1, 'cwd').trim();
  const kept = await stage.ralph('kill', 'it', '--rm-worktree').ended;
  await ralph.ended;
  expect(kept).toMatchObject({ code: 0, stdout: 'killed it\n' });
  expect(kept.stderr).toContain(`ralph: warning: worktree has 1 uncommitted change(s); kept ${tree}`);
  expect(existsSync(tree)).toBe(true);
  const removed = await stage.ralph('kill', 'it', '--rm-worktree', '--force-dirty').ended;
  expect(removed).toMatchObject({ code: 0, stdout: `removed ${tree} and branch ralph/it\n` });
  expect(existsSync(tree)).toBe(false);
});

it('S4.93 logs shows the last run, with --history all of them, and with --lines only the last lines (T121)', async () => {
  const stage = openLoadedStage();
  stage.plans('default', 'echo "one $RALPH_ITERATION"; echo "two $RALPH_ITERATION"');
  stage.plans(2, `printf 'one 2\\ntwo 2'; ${waitFor()}; echo; echo three 2`);
  const ralph = stage.starts(...swarm, '-m', '2');
  await stage.waitForCall(2);
  const follows = stage.ralph('logs', 'it', '--history', '--lines', '3', '--follow');
  await follows.until('two', 'stdout');
  stage.release();
  await ralph.ended;
  expect((await follows.ended).stdout).toMatch(/^(?:two 1\none 2\n)?two 2\nthree 2\n$/);
  const print = async (...args: readonly string[]): Promise<string> =>
    (await stage.ralph('logs', 'it', ...args).ended).stdout;
  expect(await print()).toBe('one 2\ntwo 2\nthree 2\n');
  expect(await print('--history')).toBe('one 1\ntwo 1\none 2\ntwo 2\nthree 2\n');
  expect(await print('--history', '--lines', '4')).toBe('two 1\none 2\ntwo 2\nthree 2\n');
  expect(await print('--lines', '1')).toBe('three 2\n');
  expect((await stage.ralph('logs', 'unknown').ended).code).toBe(2);
});

it('logs --history reads only the last runs that its lines need', async () => {
  const stage = openLoadedStage();
  stage.plans('default', 'echo "one $RALPH_ITERATION"; echo "two $RALPH_ITERATION"');
  await stage.starts(...swarm, '-m', '3').ended;
  // Reading this fails.
  rmSync(stage.file('runs/0001/stdout.log'));
  mkdirSync(stage.file('runs/0001/stdout.log'));
  const shown = await stage.ralph('logs', 'it', '--history', '--lines', '3').ended;
  expect(shown).toMatchObject({ code: 0, stdout: 'two 2\none 3\ntwo 3\n' });
});

it('logs reports no failure of an agent that is still running', async () => {
  const stage = openLoadedStage();
  stage.installs('claude');
  const said = { type: 'assistant', message: { id: 'm', content: [{ type: 'text', text: 'at work' }] } };
  stage.write('said', `${JSON.stringify(said)}\n`);
  stage.plans('default', `cat said; touch "$FAKE_PLAN/said"; ${waitFor()}`);
  const ralph = stage.ralph('run', '--name', 'it', '-p', 'x', '-m', '1', '--agent', 'claude');
  await stage.waitForFile(`${stage.plan}/said`);
  expect((await stage.ralph('logs', 'it').ended).stdout).toBe('at work\n');
  stage.release();
  await ralph.ended;
  expect((await stage.ralph('logs', 'it').ended).stdout).toContain(
    'Failed: the agent ended without reporting',
  );
});

it('the viewer shows how long an earlier run took', async () => {
  const stage = openLoadedStage();
  stage.installs('claude');
  stage.write('said', `${JSON.stringify({ type: 'result', subtype: 'success', result: 'more' })}\n`);
  stage.plans('default', 'sleep 1; cat said');
  await stage.ralph('run', '--name', 'it', '-p', 'x', '-m', '1', '--agent', 'claude').ended;
  const { stderr } = await stage.ralph('attach', '--view', dirname(stage.file('spec.json'))).ended;
  expect(stderr).toMatch(/starting iteration 1\/1[^]*run ended \(tools: 0, errors: 0, time: [1-9]/);
});
