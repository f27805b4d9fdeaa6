/** What a person who resumes a loop supersedes, and what a second command finds after Ralph was killed. */
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { exits, type Program } from '../rig/cli/program.ts';
import { until } from '../rig/cli/until.ts';
import { claims, firstTurn, firstTurnOfProcess } from '../rig/cli/first-turn.ts';
import { setUpRig, type Rig } from '../rig/cli/rig.ts';
import { post } from '../../src/home/inbox.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await setUpRig();
});
afterEach(() => rig.tearDown());

/** The agent's shim writes its exit status just after the agent has exited. */
function allGone(loop: string): Promise<true> {
  const exit = rig.loop(loop).file('runs/0001/exit');
  return until('the end of all processes', () => (rig.left().length === 0 && existsSync(exit) ? true : null));
}

describe('resume', () => {
  it.each([
    ['a Ctrl-C', async ({ pid }: Program) => void process.kill(pid, 'SIGINT')],
    ['ralph stop', async () => exits(await rig.does('stop', 'a'), 0)],
    ['ralph pause', async () => exits(await rig.does('pause', 'a'), 0)],
  ])('supersedes %s that the killed owner had not obeyed yet', async (_, ask) => {
    const { program, turn } = await firstTurnOfProcess(rig);
    await ask(program);
    await rig.loop('a').journals('control.received');
    await program.crashes();
    const resumed = rig.ralph(['resume', 'a']);
    await rig.loop('a').journals('control.received', () => true, 2);
    await turn.exits(0);
    const next = await rig.nextTurn();
    expect(next.env['RALPH_ITERATION']).toBe('2');
    // The first Ctrl-C after the resume lets the running agent finish.
    process.kill(resumed.pid, 'SIGINT');
    await resumed.says('press Ctrl-C again to stop it now');
    await next.answers();
    await claims(next);
    expect(next.heard).toEqual([]);
    await resumed.ended;
    expect(rig.loop('a').state.outcome).toEqual({ type: 'stopped', by: 'signal', signal: 'SIGINT' });
  });

  it('supersedes a stop that still waits in the inbox', async () => {
    const { program, turn } = await firstTurnOfProcess(rig);
    process.kill(program.pid, 'SIGSTOP');
    post(rig.loop('a').file('inbox'), { type: 'stop', now: false, by: 'person' }, Date.now());
    await program.crashes();
    const resumed = rig.runs(['resume', 'a']);
    await rig.loop('a').journals('owner.changed');
    await turn.exits(0);
    await claims(await rig.nextTurn());
    exits(await resumed.ended, 0);
    expect(readdirSync(rig.loop('a').file('inbox'))).toEqual([]);
  });

  it('cancels a stop of a running loop before the running agent has exited', async () => {
    const { program, turn } = await firstTurn(rig);
    await rig.does('stop', 'a');
    expect(await rig.does('resume', 'a')).toMatchObject({ code: 0, stdout: 'resumed loop a\n' });
    await turn.exits(0);
    await claims(await rig.nextTurn());
    exits(await program.ended, 0);
  });

  it('runs the checks and makes the commit that an abort left undone, before the next iteration', async () => {
    const folder = '"$XDG_STATE_HOME"/ralph/loops/a-*/runs/0001';
    const script = `echo "$RALPH_ITERATION" > work.txt; echo Add work; test -e once || { touch once; : > "$(echo ${folder})/checks"; }`;
    mkdirSync(rig.path('.ralph'));
    rig.write('.ralph/settings.json', JSON.stringify({ scm: { command: 'git', tasks: ['commit'] } }));
    const args = ['--name', 'a', '-m', '2', '--check', 'true', '--', ...rig.plain(script)];
    const aborted = await rig.does('run', 'task', ...args);
    exits(aborted, 3);
    expect(rig.loop('a').state.outcome?.type).toBe('fatal');
    expect(rig.loop('a').all('commit.made')).toEqual([]);
    rmSync(rig.loop('a').file('runs/0001/checks'));
    exits(await rig.does('resume', 'a'), 1);
    const { events } = rig.loop('a');
    const first = events.findIndex(({ type }) => type === 'commit.made');
    expect(events[first]).toMatchObject({ iteration: 1, error: null });
    expect(events.findLastIndex(({ type }) => type === 'iteration.started')).toBeGreaterThan(first);
    expect(rig.loop('a').all('commit.made')).toHaveLength(2);
  });
});

describe('pause', () => {
  it('says that a loop without an owner has nothing to pause, and queues nothing', async () => {
    const { program, turn } = await firstTurnOfProcess(rig);
    await program.crashes();
    const said = await rig.does('pause', 'a');
    expect(said).toMatchObject({ code: 0, stdout: '' });
    expect(said.stderr).toContain('loop a is not running, so there is nothing to pause');
    expect(said.stderr).toContain('its agent (process ');
    expect(said.stderr).toContain('continue it with: ralph resume a\n');
    expect(readdirSync(rig.loop('a').file('inbox'))).toEqual([]);
    await turn.exits(0);
    await allGone('a');
    const later = await rig.does('pause', 'a');
    expect(later.stderr).not.toContain('its agent');
  });
});

describe('the same command after Ralph was killed', () => {
  const again = (...options: readonly string[]) =>
    rig.does('run', 'fix the build', ...options, '--', ...rig.agent);

  it('refuses to start a second loop on the files that an orphaned agent works on', async () => {
    const program = rig.ralph(['run', 'fix the build', '--', ...rig.agent]);
    const turn = await rig.nextTurn();
    await rig.loop('fix-the-build-1').journals('run.started');
    await program.crashes();
    const refused = await again();
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toMatch(
      /^ralph: error: the agent of the loop "fix-the-build-1" \(process \d+\) still works on these files/,
    );
    for (const advice of ['ralph resume fix-the-build-1', 'ralph stop fix-the-build-1 --now', '--worktree'])
      expect(refused.stderr).toContain(advice);
    expect(readdirSync(rig.path('.ralph/loops'))).toEqual(['fix-the-build-1']);

    const named = await rig.does('run', 'fix the build', '--name', 'fix-the-build-1', '--', ...rig.agent);
    expect(named.code).toBe(2);
    expect(named.stderr).toContain(
      'still works on these files; continue it with: ralph resume fix-the-build-1',
    );

    const resumed = rig.runs(['resume', 'fix-the-build-1']);
    await rig.loop('fix-the-build-1').journals('owner.changed');
    await claims(turn);
    exits(await resumed.ended, 0);
    expect(rig.turns).toBe(1);
  });

  it('starts a loop in its own worktree beside an orphaned agent', async () => {
    const program = rig.ralph(['run', 'fix the build', '--', ...rig.agent]);
    const turn = await rig.nextTurn();
    await rig.loop('fix-the-build-1').journals('run.started');
    await program.crashes();
    const second = again('--worktree');
    await claims(await rig.nextTurn());
    expect(await second).toMatchObject({ code: 0 });
    await turn.exits(0);
    await allGone('fix-the-build-1');
  });

  it('names the unfinished loop if its agent has exited', async () => {
    const program = rig.ralph(['run', 'fix the build', '--', ...rig.agent]);
    const turn = await rig.nextTurn();
    await rig.loop('fix-the-build-1').journals('run.started');
    await program.crashes();
    await turn.exits(0);
    await allGone('fix-the-build-1');
    const second = again();
    await claims(await rig.nextTurn());
    const end = await second;
    exits(end, 0);
    expect(end.stderr).toContain(
      'the loop fix-the-build-1 has the same prompt and did not finish; to continue it instead, use: ralph resume fix-the-build-1\n',
    );
  });
});
