/** Commands from another process to a loop, with and without an owner. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { exits } from '../rig/cli/program.ts';
import type { Turn } from '../rig/cli/turn.ts';
import { claims, firstTurn, firstTurnOfProcess } from '../rig/cli/first-turn.ts';
import { setUpRig, type Rig } from '../rig/cli/rig.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await setUpRig();
});
afterEach(() => rig.tearDown());

/** A loop called `a` whose owner was killed during its first turn. */
async function orphaned(): Promise<Turn> {
  const { program, turn } = await firstTurnOfProcess(rig);
  await program.crashes();
  return turn;
}

describe('pause and resume', () => {
  it('S4.35 S4.36 S4.79 pause lets the running agent finish, and resume starts the next iteration', async () => {
    const { program, turn } = await firstTurn(rig);
    expect(await rig.does('pause', 'a')).toMatchObject({
      code: 0,
      stdout: 'pausing loop a after the running iteration\n',
    });
    await turn.answers();
    expect(turn.heard).toEqual([]);
    await turn.exits(0);
    const end = await program.ended;
    exits(end, 4);
    expect(end.stderr).toContain('[ralph] a: paused, exiting loop\n');
    expect(JSON.parse(rig.loop('a').read('state.json'))).toMatchObject({
      status: 'paused',
      current_iteration: 1,
    });
    expect(rig.turns).toBe(1);

    const resumed = rig.runs(['resume', 'a']);
    const next = await rig.nextTurn();
    expect(next.env['RALPH_ITERATION']).toBe('2');
    expect(JSON.parse(rig.loop('a').read('state.json'))).toMatchObject({ status: 'running' });
    await claims(next);
    const last = await resumed.ended;
    exits(last, 0);
    expect(last.stderr).toContain('[ralph] a: starting iteration 2/10\n');
  });

  it('S4.36 resume cancels a pause before the running agent has exited', async () => {
    const { program, turn } = await firstTurn(rig);
    await rig.does('pause', 'a');
    expect(await rig.does('resume', 'a')).toMatchObject({ code: 0, stdout: 'resumed loop a\n' });
    await turn.exits(0);
    await claims(await rig.nextTurn());
    exits(await program.ended, 0);
  });

  it('warn if there is nothing to do', async () => {
    const { program, turn } = await firstTurn(rig);
    const idle = await rig.does('resume', 'a');
    expect(idle).toMatchObject({ code: 0, stdout: '' });
    expect(idle.stderr).toBe('ralph: warning: loop a is not paused: it is running\n');
    await rig.does('pause', 'a');
    const again = await rig.does('pause', 'a');
    expect(again).toMatchObject({ code: 0, stdout: '' });
    expect(again.stderr).toBe('ralph: warning: loop a is already paused\n');
    await turn.exits(0);
    await program.ended;
  });

  it('S4.40 pause ends a backoff at once', async () => {
    const { program, turn } = await firstTurn(rig);
    await turn.exits(1);
    await program.says('retrying in 1s');
    await rig.does('pause', 'a');
    exits(await program.ended, 4);
    expect(rig.turns).toBe(1);
  });
});

describe('stop', () => {
  it('lets the running agent finish', async () => {
    const { program, turn } = await firstTurn(rig);
    const said = await rig.does('stop', 'a');
    expect(said).toMatchObject({ code: 0, stdout: 'stopping a after the running step\n' });
    await turn.answers();
    await turn.exits(0);
    exits(await program.ended, 130);
    expect(turn.heard).toEqual([]);
    expect(rig.loop('a').state.outcome).toEqual({ type: 'stopped', by: 'person' });
  });

  it('with --now ends the running agent', async () => {
    const { program, turn } = await firstTurn(rig);
    expect(await rig.does('stop', 'a', '--now')).toMatchObject({ code: 0, stdout: 'stopping a now\n' });
    await turn.gone;
    exits(await program.ended, 130);
    expect(turn.heard).toEqual(['SIGTERM']);
    expect(rig.left()).toEqual([]);
    const again = await rig.does('stop', 'a');
    expect(again).toMatchObject({ code: 0, stdout: '' });
    expect(again.stderr).toContain('has already ended');
  });

  it('lets the agent of a loop without an owner finish', async () => {
    const turn = await orphaned();
    const stopping = rig.ralph(['stop', 'a']);
    await stopping.says('stopping after the running step');
    await turn.exits(0);
    exits(await stopping.ended, 0);
    expect(turn.heard).toEqual([]);
    expect(rig.loop('a').state.outcome).toEqual({ type: 'stopped', by: 'person' });
  });

  it('with --now ends the agent of a loop without an owner', async () => {
    const turn = await orphaned();
    const end = await rig.does('stop', 'a', '--now');
    exits(end, 0);
    await turn.gone;
    expect(turn.heard).toEqual(['SIGTERM']);
    expect(rig.loop('a').state.outcome).toEqual({ type: 'stopped', by: 'person' });
    expect(rig.left()).toEqual([]);
  });
});

describe('tell and set', () => {
  it('tell adds a text to the next prompt only', async () => {
    const { program, turn } = await firstTurn(rig, '-m', '3');
    const told = await rig.does('tell', 'a', 'use', 'the blue one');
    expect(told).toMatchObject({ code: 0, stdout: 'delivered to a; it goes into the next prompt\n' });
    expect(turn.prompt).not.toContain('the blue one');
    await turn.exits(0);
    const second = await rig.nextTurn();
    expect(second.prompt).toContain('use the blue one');
    await second.exits(0);
    const third = await rig.nextTurn();
    expect(third.prompt).not.toContain('use the blue one');
    await third.exits(0);
    exits(await program.ended, 1);
  });

  it('set changes the limit of a running loop', async () => {
    const { program, turn } = await firstTurn(rig);
    const said = await rig.does('set', 'a', 'max-iterations=1');
    expect(said).toMatchObject({ code: 0, stdout: 'set for a: max-iterations=1\n' });
    await turn.exits(0);
    const end = await program.ended;
    exits(end, 1);
    expect(rig.loop('a').state.outcome).toEqual({ type: 'iterations-exhausted', limit: 1 });
    const late = await rig.does('set', 'a', 'max-iterations=9');
    expect(late).toMatchObject({ code: 2, stdout: '' });
    expect(late.stderr).toContain('ralph resume a');
  });

  it('are queued for the next owner if the loop has none', async () => {
    const turn = await orphaned();
    for (const args of [
      ['tell', 'a', 'use the green one'],
      ['set', 'a', 'max-iterations=2'],
    ]) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const said = await rig.does(...args);
      expect(said.code).toBe(0);
      expect(said.stdout).toMatch(/^queued for a: the loop is not running/);
    }
    const resumed = rig.runs(['resume', 'a']);
    await rig.loop('a').journals('control.received', () => true, 2);
    await turn.exits(0);
    const next = await rig.nextTurn();
    expect(next.prompt).toContain('use the green one');
    await next.exits(0);
    const end = await resumed.ended;
    exits(end, 1);
    expect(rig.loop('a').state.outcome).toEqual({ type: 'iterations-exhausted', limit: 2 });
  });

  it('report an owner that does not answer, and take effect when it continues', async () => {
    const { program, turn } = await firstTurnOfProcess(rig);
    process.kill(program.pid, 'SIGSTOP');
    const said = await rig.does('set', 'a', 'max-iterations=1');
    expect(said.code).toBe(0);
    expect(said.stdout).toContain(`its owner (process ${program.pid}) does not respond`);
    process.kill(program.pid, 'SIGCONT');
    await rig.loop('a').journals('control.received');
    await turn.exits(0);
    exits(await program.ended, 1);
  });

  it('reject unknown settings and invalid values', async () => {
    const { program, turn } = await firstTurn(rig, '-m', '1');
    for (const setting of ['max-iterations=0', 'max-iterations=many', 'colour=blue', 'max-time=soon']) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const said = await rig.does('set', 'a', setting);
      expect(said, `set ${setting}`).toMatchObject({ code: 2, stdout: '' });
      expect(said.stderr).toMatch(/^ralph: error: /);
    }
    await turn.exits(0);
    await program.ended;
    expect(rig.loop('a').all('control.received')).toEqual([]);
  });
});

describe('max_iterations in state.json', () => {
  const edit = (limit: number): void => {
    const path = '.ralph/loops/a/state.json';
    const state: unknown = JSON.parse(rig.read(path));
    rig.write(path, JSON.stringify(Object.assign({}, state, { max_iterations: limit })));
  };

  it('S4.33 changes the limit of a running loop when a person edits it', async () => {
    const { program, turn } = await firstTurn(rig, '--preset', 'swarm', '-m', '10');
    await rig.does('status', 'a');
    edit(2);
    await turn.exits(0);
    await (await rig.nextTurn()).exits(0);
    exits(await program.ended, 0);
    expect(rig.loop('a').state.outcome).toEqual({ type: 'iterations-exhausted', limit: 2 });
  });

  it('S4.33 changes the limit even if a check runs before the next iteration', async () => {
    const { program, turn } = await firstTurn(
      rig,
      '--preset',
      'swarm',
      '-m',
      '10',
      '--check',
      'sleep 0.5; exit 1',
    );
    edit(2);
    await turn.exits(0);
    await (await rig.nextTurn()).exits(0);
    await program.says(/starting iteration 3|loop complete after 2/);
    exits(await program.ended, 0);
    expect(rig.loop('a').state.outcome).toEqual({ type: 'iterations-exhausted', limit: 2 });
  });
});
