import { cpSync, rmSync, utimesSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { exits } from '../rig/cli/program.ts';
import { setUpRig, type Rig } from '../rig/cli/rig.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await setUpRig();
});
afterEach(() => rig.tearDown());

const DONE = '<promise>DONE</promise>\n';

describe('leftovers of a loop', () => {
  it('are archived when a new loop takes the name', async () => {
    await rig.does('run', 'task', '--name', 'a', '--', ...rig.plain(`echo '${DONE.trim()}'`));
    rmSync(rig.loop('a').file('journal.jsonl'));
    const restarted = await rig.does(
      'run',
      'task',
      '--name',
      'a',
      '-m',
      '1',
      '--',
      ...rig.plain('echo ran; exit 9'),
    );
    exits(restarted, 1);
    expect(restarted.stdout).toBe('ran\n');
    expect(rig.archive).toHaveLength(1);
  });

  it('are cleaned up by stop --now: it kills an orphaned check', async () => {
    const program = rig.ralph([
      'run',
      'task',
      '--name',
      'a',
      '--check',
      'echo x >begun; sleep 300',
      '--',
      'true',
    ]);
    await rig.appears('begun');
    process.kill(program.pid, 'SIGKILL');
    await program.ended;
    expect(rig.left().length).toBeGreaterThan(0);
    exits(await rig.does('stop', 'a', '--now'), 0);
    expect(rig.left()).toEqual([]);
  });

  it('are not needed on resume: a run whose folder was deleted is not started again', async () => {
    const program = rig.ralph(['run', 'task', '--name', 'a', '-m', '1', '--', ...rig.agent]);
    const turn = await rig.nextTurn();
    await rig.loop('a').journals('run.started');
    process.kill(program.pid, 'SIGKILL');
    await program.ended;
    rmSync(rig.loop('a').file('runs'), { recursive: true });
    await turn.exits(0);
    await turn.gone;
    await rig.does('resume', 'a');
    expect(rig.turns).toBe(1);
  });
});

describe('a copied workspace', () => {
  it('has no loops of its own: those that were copied are ignored and mentioned', async () => {
    const program = rig.runs(['run', 'task', '--name', 'a', '--', ...rig.agent]);
    const turn = await rig.nextTurn();
    const copy = `${rig.workspace}-copy`;
    cpSync(rig.workspace, copy, { recursive: true });
    const ls = await rig.runs(['ls'], { cwd: copy }).ended;
    expect(ls).toMatchObject({ code: 0, stdout: '' });
    expect(ls.stderr).toContain('note: .ralph/loops/a is not one of your loops');
    const rm = await rig.runs(['rm', 'a'], { cwd: copy }).ended;
    exits(rm, 2);
    expect(rm.stderr).toContain('.ralph/loops/a is not one of your loops');
    expect(turn.heard).toEqual([]);
    await turn.prints(DONE);
    await turn.exits(0);
    exits(await program.ended, 0);
  });
});

describe('ralph resume inside an agent', () => {
  it('starts a separate owner, which drives the inner loop to its end', async () => {
    const gate = rig.gate();
    const ralph = `${process.execPath} ${rig.command}`;
    const resume = `{ ${ralph} run inner --name inner -m 1 -- true; ${ralph} resume inner -m 3; } >/dev/null 2>&1 & read go <${gate.path}; echo '${DONE.trim()}'`;
    const outer = rig.runs(['run', 'outer', '--name', 'outer', '--', ...rig.plain(resume)]);
    await rig.loop('inner').journals('loop.ended', () => true, 2);
    gate.open();
    exits(await outer.ended, 0);
    expect(rig.loop('inner').state).toMatchObject({
      iteration: 3,
      outcome: { type: 'iterations-exhausted' },
    });
  });
});

describe('a silent agent', () => {
  it('is stopped by the inactivity timeout even if a file has a modification time in the future', async () => {
    rig.write('tomorrow');
    const tomorrow = Date.now() / 1000 + 86_400;
    utimesSync(rig.path('tomorrow'), tomorrow, tomorrow);
    const end = await rig.does(
      'run',
      'task',
      '-m',
      '1',
      '--inactivity-timeout',
      '200ms',
      '--',
      'sleep',
      '300',
    );
    exits(end, 1);
    expect(end.stderr).toContain('inactivity timeout (0.2s)');
  });
});

describe('a prompt from a pipe', () => {
  it('is read once and used in every iteration', async () => {
    const script = `${process.execPath} ${rig.command} run --name a -m 2 -f <(echo from a pipe) -- sh -c 'head -n 1'`;
    const { Program } = await import('../rig/cli/program.ts');
    const program = new Program(['/bin/bash', '-c', script], {
      cwd: rig.workspace,
      env: rig.env,
      peakFile: '/dev/null',
    });
    const end = await program.ended;
    exits(end, 1);
    expect(end.stdout).toBe('from a pipe\nfrom a pipe\n');
  });
});
