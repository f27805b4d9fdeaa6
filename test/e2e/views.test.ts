/** The commands that only read: status, ls and logs. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { exits } from '../rig/cli/program.ts';
import { setUpRig, type Rig } from '../rig/cli/rig.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await setUpRig();
});
afterEach(() => rig.tearDown());

describe('status and ls', () => {
  it('S4.66 status exits with 0 for a running loop, 1 for any other loop, and 2 for an unknown name', async () => {
    expect(await rig.does('status', 'a')).toMatchObject({ code: 2, stdout: '' });
    expect(await rig.does('ls')).toMatchObject({ code: 0, stdout: '' });
    const program = rig.ralph(['run', 'task', '--name', 'a', '--', ...rig.agent]);
    const turn = await rig.nextTurn();
    await rig.loop('a').journals('run.started');
    const during = await rig.does('status', 'a');
    expect(during.code).toBe(0);
    expect(during.stdout).toContain('Ralph Loop: a\nStatus: running\nIteration: 1/10\n');
    await program.crashes();

    const orphaned = await rig.does('status', 'a');
    expect(orphaned.code).toBe(1);
    expect(orphaned.stdout).toContain('Status: crashed\n');
    expect(orphaned.stdout).toContain('Next: ralph resume a\n');
    const resumed = rig.runs(['resume', 'a']);
    await turn.prints('<promise>DONE</promise>\n');
    await turn.exits(0);
    await resumed.ended;
    const after = await rig.does('status', 'a');
    expect(after.code).toBe(1);
    expect(after.stdout).toContain('Status: done\n');
    expect((await rig.does('ls')).stdout).toMatch(/^NAME .*\na +done +1\/10 +.* done, unverified/);
  });

  it('print the same data with --json', async () => {
    await rig.does('run', 'task', '--name', 'a', '-m', '1', '--', ...rig.plain('exit 0'));
    const one: unknown = JSON.parse((await rig.does('status', 'a', '--json')).stdout);
    expect(one).toMatchObject({
      name: 'a',
      status: 'iterations-exhausted',
      owner: null,
      iterations: 1,
      iterationLimit: 1,
      next: 'ralph resume a -m 2',
      spends: [{ iteration: 1, usd: null, source: null, unknownRuns: 1 }],
    });
    expect(JSON.parse((await rig.does('ls', '--json')).stdout)).toEqual([one]);
    const everywhere = rig.runs(['ls', '--all'], { cwd: '/' });
    expect((await everywhere.ended).stdout).toContain(`\n${rig.workspace}:\n`);
  });

  it('show how each loop ended', async () => {
    await rig.does('run', 'task', '--name', 'a', '-m', '1', '--', ...rig.plain('exit 0'));
    await rig.does('run', 'task', '--name', 'b', '--max-failures', '1', '--', ...rig.plain('exit 7'));
    const { stdout } = await rig.does('ls');
    expect(stdout).toMatch(/^a +iteration limit +1\/1 .* iteration limit/m);
    expect(stdout).toMatch(/^b +failed +1\/10 .* 1 consecutive/m);
    expect((await rig.does('status', 'b')).stdout).toMatch(
      /^Status: failures-exhausted\n[^]*^Reason: 1 consecutive failure; the last: agent exited with code 7$/m,
    );
  });

  it('do not count a running agent among the runs with unknown cost', async () => {
    const agent = ['--agent', 'scripted', '--', ...rig.agent];
    const program = rig.runs(['run', 'task', '--name', 'a', '-m', '2', ...agent]);
    const first = await rig.nextTurn();
    await first.prints('{"type":"result","ok":true,"text":"more to do","costUsd":0.5}\n');
    await first.exits(0);
    const second = await rig.nextTurn();
    const during = await rig.does('status', 'a');
    expect(during.stdout).toMatch(/^Cost: \$0\.5000 reported$/m);
    expect(during.stdout).toMatch(/^ {2}iteration 2: unknown$/m);
    await second.exits(0);
    await program.ended;
    const after = await rig.does('status', 'a');
    expect(after.stdout).toMatch(/^Cost: \$0\.5000 reported \(plus 1 run of unknown cost\)$/m);
  });
});

describe('the view of a reattached run', () => {
  it('counts the tools that were shown before the crash, and does not show them again', async () => {
    const args = ['--agent', 'scripted', '--', ...rig.agent];
    const program = rig.ralph(['run', 'task', '--name', 'a', ...args]);
    const turn = await rig.nextTurn();
    await turn.prints('{"type":"tool.start","id":"1","name":"Bash","input":"make"}\n');
    await turn.prints('{"type":"progress","costUsd":0.25}\n');
    await rig.loop('a').journals('run.output', ({ cost }) => cost !== null);
    await program.crashes();
    const resumed = rig.runs(['resume', 'a']);
    await resumed.says('reattached');
    await turn.prints('{"type":"tool.end","id":"1","output":"made"}\n');
    await turn.prints('{"type":"result","ok":true,"text":"<promise>DONE</promise>","costUsd":0.5}\n');
    await turn.exits(0);
    const end = await resumed.ended;
    exits(end, 0);
    expect(end.stderr).not.toContain('Bash(make)');
    expect(end.stderr).toContain('Result ← Bash (1 line, 4 chars)\n');
    expect(end.stderr).toMatch(/run ended \(cost: \$0\.50, tools: 1, errors: 0, time: /);
  });
});

describe('logs', () => {
  it('S4.65 --follow shows the output of every agent live until the loop ends', async () => {
    const program = rig.runs(['run', 'task', '--name', 'a', '-m', '2', '--', ...rig.agent]);
    const first = await rig.nextTurn();
    await first.prints('one\n');
    const logs = rig.runs(['logs', 'a', '--follow']);
    await logs.says('one\n');
    await first.prints('two\n');
    await logs.says('two\n');
    await first.exits(0);
    const second = await rig.nextTurn();
    await second.prints('three\n');
    await logs.says('three\n');
    await second.prints('four\n');
    await second.exits(0);
    exits(await program.ended, 1);
    expect(await logs.ended).toMatchObject({ code: 0, stdout: 'one\ntwo\nthree\nfour\n', stderr: '' });
  });

  it('show how long the run took, not how long the reading takes', async () => {
    const script = `sleep 0.6; echo '{"type":"result","ok":true,"text":"more to do"}'`;
    const agent = ['--agent', 'scripted', '--', ...rig.plain(script)];
    await rig.does('run', 'task', '--name', 'a', '-m', '1', ...agent);
    expect((await rig.does('logs', 'a')).stdout).toMatch(
      /run ended \(tools: 0, errors: 0, time: [1-9]\d*s\)/,
    );
  });

  it('show every byte of any run of an ended loop', async () => {
    const script = 'head -c 300000 /dev/zero | tr "\\0" "$RALPH_ITERATION"; echo oops >&2';
    await rig.does('run', 'task', '--name', 'a', '-m', '2', '--', ...rig.plain(script));
    const heading = (iteration: number): RegExp =>
      new RegExp(`^=== iteration ${iteration} · \\S+ \\S+ · \\ds$`);
    const all = await rig.does('logs', 'a');
    expect(all.code).toBe(0);
    expect(all.stdout.split('\n')).toEqual([
      expect.stringMatching(heading(1)),
      '1'.repeat(300_000),
      expect.stringMatching(heading(2)),
      '2'.repeat(300_000),
    ]);
    expect(await rig.does('logs', 'a', '--run', '2')).toMatchObject({ code: 0, stdout: '2'.repeat(300_000) });
    expect(await rig.does('logs', 'a', '--run', '1')).toMatchObject({ code: 0, stdout: '1'.repeat(300_000) });
    expect(await rig.does('logs', 'a', '--stderr')).toMatchObject({ code: 0, stdout: 'oops\n' });
    expect(await rig.does('logs', 'a', '-f')).toMatchObject({ code: 0, stdout: '2'.repeat(300_000) });
    expect(await rig.does('logs', 'a', '--run', '7')).toMatchObject({ code: 2, stdout: '' });
    expect(await rig.does('logs', 'b')).toMatchObject({ code: 2, stdout: '' });
  });
});
