import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { exits, type Program } from '../rig/cli/program.ts';
import { setUpRig, type Rig } from '../rig/cli/rig.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await setUpRig();
});
afterEach(() => rig.tearDown());

describe('the owner of a loop', () => {
  it('is named in the error if another command wants its loop, and is not disturbed', async () => {
    const program = rig.ralph(['run', 'task', '--name', 'a', '--', ...rig.agent]);
    const turn = await rig.nextTurn();
    for (const more of [[], ['--fresh']]) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const refused = await rig.does('run', 'task', '--name', 'a', ...more, '--', ...rig.agent);
      expect(refused).toMatchObject({ code: 2, stdout: '' });
      expect(refused.stderr).toContain(`is already running (process ${program.pid});`);
    }
    const kept = await rig.does('rm', 'a');
    expect(kept).toMatchObject({ code: 2 });
    expect(kept.stderr).toContain(`(process ${program.pid});`);
    await turn.prints('<promise>DONE</promise>\n');
    await turn.exits(0);
    exits(await program.ended, 0);
    expect(rig.turns).toBe(1);
  });

  it('keeps its loop while it is suspended by SIGSTOP', async () => {
    const program = rig.ralph(['run', 'task', '--name', 'a', '--', ...rig.agent]);
    const turn = await rig.nextTurn();
    process.kill(program.pid, 'SIGSTOP');
    for (const args of [
      ['run', 'task', '--name', 'a', '--fresh', '--', ...rig.agent],
      ['rm', 'a'],
    ]) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const refused = await rig.does(...args);
      expect(refused.code).toBe(2);
      expect(refused.stderr).toContain(`(process ${program.pid});`);
    }
    await rig.does('resume', 'a');
    await turn.prints('<promise>DONE</promise>\n');
    await turn.exits(0);
    process.kill(program.pid, 'SIGCONT');
    exits(await program.ended, 0);
    expect(rig.turns).toBe(1);
    expect(rig.loop('a').all('owner.changed')).toEqual([]);
  });

  /** Starts a loop whose owner could not write into its lock who it is, as on a full disk. */
  async function nameless(): Promise<{ readonly program: Program; readonly lock: string }> {
    const program = rig.ralph(['run', 'task', '--name', 'a', '--', ...rig.agent]);
    await rig.nextTurn();
    await rig.loop('a').journals('run.started');
    const lock = join(rig.loop('a').folder, 'lock');
    writeFileSync(lock, '\n');
    return { program, lock };
  }

  it('obeys ralph kill if its lock does not say who has it', async () => {
    const { program } = await nameless();
    exits(await rig.does('kill', 'a'), 0);
    expect((await program.ended).code).toBe(130);
  });

  it.runIf(existsSync('/proc/self/fd'))('is named if it does not even obey ralph kill', async () => {
    const { program, lock } = await nameless();
    process.kill(program.pid, 'SIGSTOP');
    const killed = await rig.does('kill', 'a');
    exits(killed, 3);
    expect(killed.stderr).toContain(`${lock} is open in process ${program.pid}; end that process`);
    process.kill(program.pid, 'SIGKILL');
    await program.ended;
    exits(await rig.does('kill', 'a'), 0);
  });

  it('is a separate process for every loop in one workspace', async () => {
    const programs = ['a', 'b'].map((name) => rig.runs(['run', 'task', '--name', name, '--', ...rig.agent]));
    const turns = [await rig.nextTurn(), await rig.nextTurn()];
    expect(new Set(turns.map(({ env }) => env['RALPH_LOOP']))).toEqual(new Set(['a', 'b']));
    for (const turn of turns) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await turn.prints(`I am ${turn.env['RALPH_LOOP']}\n<promise>DONE</promise>\n`);
    }
    await Promise.all(turns.map((turn) => turn.exits(0)));
    const ends = await Promise.all(programs.map(({ ended }) => ended));
    expect(ends.map(({ code }) => code)).toEqual([0, 0]);
    expect(ends.map(({ stdout }) => stdout.split('\n', 1)[0])).toEqual(['I am a', 'I am b']);
  });

  it("is not reported as a stray of another loop's agent", async () => {
    const first = rig.runs(['run', 'task', '--name', 'a', '--', ...rig.agent]);
    const turn = await rig.nextTurn();
    const second = rig.runs(['run', 'task', '--name', 'b', '--', ...rig.agent]);
    const other = await rig.nextTurn();
    await turn.prints('<promise>DONE</promise>\n');
    await turn.exits(0);
    await first.ended;
    await other.prints('<promise>DONE</promise>\n');
    await other.exits(0);
    await second.ended;
    expect(first.said).not.toContain('left behind');
    expect(rig.loop('a').all('run.ended')[0]).not.toHaveProperty('strays');
  });

  it('accepts the claim of an agent that runs git clean -fdx first', async () => {
    const script = 'git clean -fdxq; echo "<promise>DONE</promise>"';
    const end = await rig.does('run', 'task', '--name', 'a', '-m', '2', '--', ...rig.plain(script));
    exits(end, 0);
    expect(end.stdout).toBe('<promise>DONE</promise>\n');
    expect(rig.loop('a').state.outcome).toMatchObject({ type: 'done' });
  });

  it('restores the journal when its agent runs git clean -fdx', async () => {
    rig.write('precious', 'not tracked');
    const program = rig.runs(['run', 'task', '--name', 'a', '--check', 'test -f ok', '--', ...rig.agent]);
    const first = await rig.nextTurn();
    await first.prints('before\n');
    // git clean fails if the owner writes into a folder while it is removed.
    const clean = 'git clean -fdxq || git clean -fdxq || git clean -fdxq';
    expect(await first.runs('sh', '-c', clean)).toBe(0);
    expect(rig.has('precious')).toBe(false);
    // The journal comes back without a new event, so that no other loop can take the name.
    await rig.loop('a').journals('run.started');
    await first.prints('after\n');
    await first.exits(0);
    const second = await rig.nextTurn();
    const refused = await rig.does('run', 'task', '--name', 'a', '--fresh', '--', ...rig.agent);
    expect(refused).toMatchObject({ code: 2 });
    await second.runs('git', 'clean', '-fdxq');
    await second.writes('ok');
    await second.prints('<promise>DONE</promise>\n');
    await second.exits(0);
    const end = await program.ended;
    exits(end, 0);
    expect(end.stdout).toBe('before\nafter\n<promise>DONE</promise>\n');
    const loop = rig.loop('a');
    expect(loop.events[0]).toMatchObject({ type: 'loop.created' });
    expect(loop.all('run.ended')).toMatchObject([
      { run: '1.1', ending: { how: 'exited', code: 0 } },
      { run: '2.1', ending: { how: 'exited', code: 0 } },
    ]);
    expect(loop.state.outcome).toMatchObject({ type: 'done', verified: true });
    expect(rig.git('status', '--porcelain')).toBe('?? ok\n');
    expect((await rig.does('status', 'a')).stdout).toContain('Status: done');
  });
});
