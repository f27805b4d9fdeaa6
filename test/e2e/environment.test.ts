/** The environment that agents and checks get, and the files that must not contain a secret. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { exits } from '../rig/cli/program.ts';
import { setUpRig, type Rig } from '../rig/cli/rig.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await setUpRig();
});
afterEach(() => rig.tearDown());

/** The kept environments, outside of the workspace, of loops that have not ended. */
function keptFiles(): readonly string[] {
  const folder = join(rig.folder, 'state', 'ralph', 'kept');
  return existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [];
}

/** The files below `.ralph` that contain a text. */
function filesWith(text: string): readonly string[] {
  return readdirSync(rig.path('.ralph'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => readFileSync(path, 'latin1').includes(text));
}

describe('the environment that a loop was started with', () => {
  it('reaches agents and checks, is kept for this user only, and is deleted when the loop ends', async () => {
    const check = 'test "$MY_VALUE" = "of the starter" && test -n "$MY_API_KEY"';
    const program = rig.runs(['run', 'task', '--name', 'a', '--check', check, '--', ...rig.agent], {
      env: { MY_VALUE: 'of the starter', MY_API_KEY: 'open-sesame-77' },
    });
    const turn = await rig.nextTurn();
    expect(turn.env).toMatchObject({ MY_VALUE: 'of the starter', MY_API_KEY: 'open-sesame-77' });
    const [file = ''] = keptFiles();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(join(file, '..')).mode & 0o777).toBe(0o700);
    await turn.prints('<promise>DONE</promise>\n');
    await turn.exits(0);
    const end = await program.ended;
    exits(end, 0);
    expect(keptFiles()).toEqual([]);
    expect(filesWith('open-sesame-77')).toEqual([]);
  });

  it('is used by ralph resume instead of its own environment', async () => {
    const program = rig.ralph(['run', 'task', '--name', 'a', '--', ...rig.agent], {
      env: { MY_VALUE: 'of the starter' },
    });
    const turn = await rig.nextTurn();
    await rig.loop('a').journals('run.started');
    await program.crashes();
    const resumed = rig.runs(['resume', 'a'], { env: { MY_VALUE: 'of the other', THEIRS: 'too' } });
    await rig.loop('a').journals('owner.changed');
    await turn.exits(0);
    const next = await rig.nextTurn();
    expect(next.env['MY_VALUE']).toBe('of the starter');
    expect(next.env['THEIRS']).toBeUndefined();
    await next.prints('<promise>DONE</promise>\n');
    await next.exits(0);
    exits(await resumed.ended, 0);
    expect(keptFiles()).toEqual([]);
  });
});

describe('a secret', () => {
  it("in the agent's arguments reaches the agent but no file of the loop, even after a crash", async () => {
    const secrets = ['sk-abcdefghijklmnop', 'hunter2-hunter2', 'swordfish-1234'];
    const [first = '', second = '', third = ''] = secrets;
    const agentArgs = [
      '--key',
      first,
      '--password',
      second,
      `Authorization: Bearer ${third}`,
      '--max-tokens',
      '5',
    ];
    const program = rig.ralph(['run', 'task', '--name', 'a', '-m', '2', '--', ...rig.agent, ...agentArgs], {
      env: { SERVICE_TOKEN: third },
    });
    const turn = await rig.nextTurn();
    expect(turn.argv).toEqual(agentArgs);
    await rig.loop('a').journals('run.started');
    expect(secrets.flatMap((secret) => filesWith(secret))).toEqual([]);
    expect(rig.loop('a').read('spec.json')).toContain('"--max-tokens",\n      "5"');
    await program.crashes();
    const resumed = rig.runs(['resume', 'a']);
    await rig.loop('a').journals('owner.changed');
    await turn.exits(0);
    const next = await rig.nextTurn();
    expect(next.argv).toEqual(agentArgs);
    await next.exits(0);
    exits(await resumed.ended, 1);
    expect(secrets.flatMap((secret) => filesWith(secret))).toEqual([]);
    expect(keptFiles()).toEqual([]);
  });

  it('in a check is rejected before the loop is created', async () => {
    const args = [
      'run',
      'task',
      '--name',
      'a',
      '--check',
      'curl -H open-sesame-77',
      '--',
      ...rig.plain('exit'),
    ];
    const refused = await rig.runs(args, { env: { MY_API_KEY: 'open-sesame-77' } }).ended;
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain("'$MY_API_KEY'");
    expect(refused.stderr).not.toContain('open-sesame-77');
    expect(rig.has('.ralph/loops/a')).toBe(false);
  });
});

describe('a DONE file', () => {
  it('is a claim, and is renamed if the claim is rejected', async () => {
    const args = ['run', 'task', '--name', 'a', '--check', 'test -f ok', '--', ...rig.agent];
    const program = rig.runs(args);
    const turn = await rig.nextTurn();
    expect(turn.cwd).toBe(rig.workspace);
    expect(turn.prompt).toContain('task');
    expect(turn.env).toMatchObject({ RALPH_LOOP: 'a', RALPH_ITERATION: '1' });
    const done = turn.env['RALPH_DONE_FILE'] ?? '';
    expect(done).toBe(rig.loop('a').file('DONE'));
    await turn.writes(done);
    await turn.exits(0);
    const next = await rig.nextTurn();
    expect(existsSync(done)).toBe(false);
    expect(existsSync(`${done}.rejected-1`)).toBe(true);
    await next.writes('ok');
    await next.writes(done);
    await next.exits(0);
    const end = await program.ended;
    exits(end, 0);
    expect(rig.loop('a').all('claim.made')).toMatchObject([
      { iteration: 1, claim: { by: 'marker' } },
      { iteration: 2, claim: { by: 'marker' } },
    ]);
  });

  it('S1.19 S1.20 counts in the folder TASK_FOLDER (conductor)', async () => {
    const script = ': >"$TASK_FOLDER/DONE"; exit 1';
    const args = ['run', 'task', '--name', 'a', '--preset', 'conductor', '--', ...rig.plain(script)];
    const end = await rig.does(...args);
    exits(end, 0);
    expect(rig.loop('a').state.outcome).toMatchObject({ type: 'done' });
    expect(rig.loop('a').all('iteration.started')).toHaveLength(1);
  });

  it('S1.18 is found during the delay even if the agent did not create it (conductor)', async () => {
    const args = ['run', 'task', '--name', 'a', '--preset', 'conductor', '--restart-delay', '1s'];
    const program = rig.runs([...args, '--', ...rig.plain('echo turn >>turns')]);
    await rig.loop('a').journals('probe.finished', ({ phase }) => phase === 'after');
    rig.write('.ralph/loops/a/DONE');
    const end = await program.ended;
    exits(end, 0);
    expect(rig.lines('turns')).toHaveLength(1);
  });
});

describe('an agent', () => {
  it('S1.34 has its own process group and session, which its receipt names', async () => {
    const args = [
      'run',
      'task',
      '--name',
      'a',
      '-m',
      '1',
      '--',
      ...rig.plain('cut -d" " -f5,6 /proc/$$/stat'),
    ];
    const end = await rig.does(...args);
    const pid = rig.loop('a').all('run.started')[0]?.receipt.pid;
    expect(end.stdout).toBe(`${pid} ${pid}\n`);
  });
});
