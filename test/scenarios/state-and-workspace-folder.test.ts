/** The state of a loop is outside the workspace; its workspace folder in the workspace may be removed, planted, copied and moved. */
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Ralph } from './ralph.ts';
import { openLoadedStage, openStage, waitFor, type Stage } from './stage.ts';

const work = ['-p', 'work'];
const DONE = 'echo "<promise>DONE</promise>"';
const root = (stage: Stage): string => join(stage.env['XDG_STATE_HOME'] ?? '', 'ralph');

/** Everything below a folder that is not readable for its user only. */
function exposed(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).flatMap((name) => {
    const found = lstatSync(join(folder, name));
    const mode = (found.mode & 0o777).toString(8);
    return mode === (found.isDirectory() ? '700' : '600') ? [] : [`${name} ${mode}`];
  });
}

describe('the state of a loop', () => {
  it('is outside the workspace and readable for its user only', async () => {
    const stage = openLoadedStage();
    stage.plans(
      'default',
      'echo "$RALPH_ITERATION" >a; echo "$RUN_FOLDER $TASK_FOLDER" >"$FAKE_CALL/folders"',
    );
    await stage.run(...work, '-m', '2', '--check', 'echo red; false');
    expect(exposed(root(stage))).toEqual([]);
    expect((lstatSync(root(stage)).mode & 0o777).toString(8)).toBe('700');
    const workspaceFolder = stage.files('it').workspaceFolder;
    expect(stage.given(2, 'folders')).toBe(`${join(workspaceFolder, 'runs/0002')} ${workspaceFolder}\n`);
    const names = readdirSync(workspaceFolder, { recursive: true, encoding: 'utf8' });
    for (const name of ['journal.jsonl', 'spec.json', 'stdout.log', 'exit', 'inbox'])
      expect(names.filter((path) => path.endsWith(name))).toEqual([]);
    const log = 'runs/0002/checks/echo_red_false.log';
    expect(readFileSync(join(workspaceFolder, log), 'utf8')).toBe('red\n');
    expect(readFileSync(stage.file(log), 'utf8')).toBe('red\n');
    const { stderr } = await stage.ralph('resume', 'it', '-m', '3').ended;
    expect(stderr).toMatch(/^ {2}details {5}\.ralph\/loops\/it$/m);
    expect(stderr).toContain(`  logs        ${stage.files('it').state}\n`);
    expect((await stage.ralph('status', 'it').ended).stdout).toContain(`Logs: ${stage.files('it').state}\n`);
    expect((await stage.ralph('logs', 'it', '--run', '1').ended).stderr).toBe(
      `ralph: this output is in ${stage.files('it').state}/runs/0001/stdout.log\n`,
    );
  });

  it('S4.101 survives git clean -fdx, a removed .ralph and another branch, and the workspace folder is made again', async () => {
    const stage = openLoadedStage();
    stage.plans(1, `echo first; git clean -fdxq; ${waitFor()}`);
    stage.plans(2, 'echo second; rm -rf .ralph; git checkout -q -b other');
    stage.plans(3, `echo third; ${DONE}`);
    const ralph = stage.starts(...work, '--check', 'true');
    await stage.waitForCall(1);
    await stage.waitForFile(join(stage.files('it').workspaceFolder, 'runs/0001'));
    stage.release();
    expect((await ralph.ended).code).toBe(0);
    expect(stage.state['current_iteration']).toBe(3);
    const entries = readFileSync(stage.file('progress.md'), 'utf8').match(/^## Iteration \d/gm);
    expect(entries).toEqual(['## Iteration 1', '## Iteration 2', '## Iteration 3']);
    expect(stage.log.match(/\[START\]/g)).toHaveLength(3);
    expect(existsSync(stage.path('.ralph/.gitignore'))).toBe(true);
    const logs = await Promise.all([1, 2].map((run) => stage.ralph('logs', 'it', '--run', `${run}`).ended));
    expect(logs.map(({ stdout }) => stdout.trim())).toEqual(['first', 'second']);
  });

  it('is not used if its folder cannot be written: the message names RALPH_STATE', async () => {
    const stage = openLoadedStage();
    stage.env['XDG_STATE_HOME'] = '/proc/no-such-home';
    const { code, stderr } = await stage.run(...work);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^ralph: error: cannot write \/proc\/no-such-home.*set RALPH_STATE to a folder/);
    expect(stage.calls).toBe(0);
  });

  it('is where RALPH_STATE says, also for a child loop; in the workspace it is no part of the work', async () => {
    const stage = openLoadedStage();
    stage.env['RALPH_STATE'] = '.kept';
    stage.plans(
      1,
      `echo 1 >a; (cd .. && sh -c "$INNER run inner --name inner --cwd '$PWD' -m 1 -- true"); ${DONE}`,
    );
    stage.env['INNER'] = `'${process.execPath}' '${MAIN}'`;
    const { code, stderr } = await stage.run(...work, '-m', '2');
    expect(code).toBe(0);
    expect(stderr).toContain(`warning: the state folder ${stage.path('.kept')} is in the workspace`);
    expect(readdirSync(stage.path('.kept/loops')).map((name) => name.replace(/-[^-]*$/, ''))).toEqual([
      'inner',
      'it',
    ]);
    expect(stage.git('status', '--porcelain')).toBe('?? a\n');
    const tree = stage.git('for-each-ref', '--format=%(refname)', 'refs/ralph').split('\n')[0] ?? '';
    expect(stage.git('ls-tree', '-r', '--name-only', tree)).not.toContain('.kept');
    const refused = stage.shell('RALPH_STATE=. $RALPH run x -- true');
    expect(await refused.ended).toMatchObject({ code: 2 });
    expect(refused.stderr).toContain('must be a folder of its own');
    // The child loop had a daemon in that folder.
    expect((await stage.ralph('daemon', 'stop').ended).code).toBe(0);
  });
});

const MAIN = new URL('../../dist/cli/main.js', import.meta.url).pathname;

describe('the state of a loop with a worktree, a set-up, commits and a rewind', () => {
  it('is readable for its user only, too', async () => {
    const stage = openLoadedStage();
    stage.settings({ setup: ['echo prepared'], scm: { command: 'git', tasks: ['commit'] } });
    for (const [key, value] of Object.entries({ name: 't', email: 't@t' }))
      stage.git('config', `user.${key}`, value);
    stage.plans('default', 'echo "$RALPH_ITERATION" >a; echo Work');
    const { code } = await stage.run(...work, '--worktree', '-m', '2', '--check', 'true');
    expect(code).toBe(1);
    expect((await stage.ralph('rewind', 'it', '1').ended).code).toBe(0);
    expect(exposed(root(stage))).toEqual([]);
  });
});

describe('a workspace folder', () => {
  it('is not hindered by files that a clone has in the folder of loops', async () => {
    const stage = openLoadedStage();
    stage.write('.ralph/loops/.gitkeep', '');
    stage.write('.ralph/loops/README', '');
    stage.plans(1, 'echo "<promise>DONE</promise>"');
    expect((await stage.ralph('ls').ended).code).toBe(0);
    expect((await stage.run('-p', 'a task', '-m', '1')).code).toBe(0);
  });

  it('that came with a clone is no loop: it is ignored and mentioned, and a new loop moves it away', async () => {
    const stage = openLoadedStage();
    await stage.run(...work, '-m', '1');
    // What a cloned repository may contain: a workspace folder, and the state of a loop.
    cpSync(stage.files('it').state, stage.files('it').workspaceFolder, { recursive: true });
    stage.write('.ralph/loops/it/DONE', '');
    stage.env['XDG_STATE_HOME'] = join(stage.plan, 'another-home');
    const ls = await stage.ralph('ls').ended;
    expect(ls).toMatchObject({ code: 0, stdout: '' });
    expect(ls.stderr).toContain('note: .ralph/loops/it is not one of your loops');
    const all = ['status', 'resume', 'rm', 'logs', 'stop'].map((command) => stage.ralph(command, 'it').ended);
    for (const { code, stderr } of await Promise.all(all)) {
      expect(code).toBe(2);
      expect(stderr).toContain('.ralph/loops/it is not one of your loops');
    }
    const fresh = await stage.run(...work, '--preset', 'conductor', '-m', '1');
    expect(fresh.stderr).toContain(
      'moved .ralph/loops/it, which was not a loop of yours, to .ralph/archive/it-1',
    );
    expect(fresh.code).not.toBe(0);
    expect(existsSync(stage.path('.ralph/archive/it-1/DONE'))).toBe(true);
  });

  it.each([['.ralph'], ['.ralph/loops'], ['.ralph/loops/it']])(
    'whose folder %s is a symbolic link is refused, and nothing is written through it',
    async (name) => {
      const stage = openLoadedStage();
      const victim = join(stage.plan, 'victim');
      mkdirSync(victim);
      mkdirSync(dirname(stage.path(name)), { recursive: true });
      symlinkSync(victim, stage.path(name));
      const { code, stderr } = await stage.run(...work);
      expect({ code, calls: stage.calls, written: readdirSync(victim) }).toEqual({
        code: 2,
        calls: 0,
        written: [],
      });
      expect(stderr).toContain(`${name} is a symbolic link`);
    },
  );

  it('with links and FIFOs in place of its files is never followed and never waited for', async () => {
    const stage = openLoadedStage();
    const victim = join(stage.plan, 'victim');
    writeFileSync(victim, 'precious');
    const plant = ['state.json', 'iterations.log', 'progress.md', 'lock']
      .map((file) => `rm -f "$TASK_FOLDER/${file}"; ln -s '${victim}' "$TASK_FOLDER/${file}"`)
      .join('; ');
    stage.plans(
      1,
      `echo 1 >a; ${plant}; rm -rf "$RUN_FOLDER/checks"; ln -s '${stage.plan}' "$RUN_FOLDER/checks"`,
    );
    stage.plans(
      2,
      `echo 2 >a; rm -f "$TASK_FOLDER"/*.*; mkfifo "$TASK_FOLDER/state.json" "$TASK_FOLDER/progress.md"`,
    );
    stage.plans(3, `echo 3 >a; touch third; ${DONE}`);
    const { code } = await stage.run(
      ...work,
      '--preset',
      'swarm',
      '-m',
      '3',
      '--check',
      'echo hi; test -e third',
    );
    expect(readFileSync(victim, 'utf8')).toBe('precious');
    expect(readdirSync(stage.plan).filter((name) => name.endsWith('.log'))).toEqual([]);
    expect([code, stage.calls]).toEqual([0, 3]);
  });

  it('is driven by one owner, also if another one has its own state folder', async () => {
    const stage = openStage();
    stage.plans(1, `${waitFor()}; ${DONE}`);
    const first = stage.starts(...work);
    await stage.waitForCall(1);
    const other = { XDG_STATE_HOME: join(stage.plan, 'another-home') };
    const second = await stage.shell(`$RALPH run -p work --name it -- '${stage.agent}'`, other).ended;
    expect(second.code).toBe(2);
    expect(second.stderr).toContain(
      `another user, container or state folder drives a loop "it" in this workspace (process ${first.pid} there`,
    );
    stage.release();
    expect((await first.ended).code).toBe(0);
    expect(stage.calls).toBe(1);
  });
});

describe('a workspace that was moved', () => {
  it('takes its loops along with ralph move, and they can be resumed', async () => {
    const stage = openLoadedStage();
    stage.plans('default', 'echo "$RALPH_ITERATION" >a');
    const [old, moved] = [stage.path('old'), stage.path('a new place')];
    mkdirSync(old);
    const run = (name: string) =>
      stage.ralph('run', '--cwd', old, '--name', name, ...work, '-m', '1', '--', stage.agent).ended;
    await run('it');
    await run('other');
    expect(await stage.ralph('move', old, '--cwd', '.').ended).toMatchObject({ code: 2 });
    renameSync(old, moved);
    const inMoved = (line: string) => stage.shell(`cd '${moved}' && ${line}`);
    const ls = await inMoved('$RALPH ls').ended;
    expect(ls).toMatchObject({ code: 0, stdout: '' });
    expect(ls.stderr).toBe(
      `no loops in this workspace; list those of all workspaces with: ralph ls --all\nnote: this workspace was ${old} before; take its loops along with: ralph move ${old}\n`,
    );
    expect((await inMoved('$RALPH ls --all').ended).stderr).toContain('the workspace of it, other is gone');
    expect((await inMoved(`$RALPH move ${old}`).ended).stdout).toBe(
      'these loops belong to this workspace now: it, other\n',
    );
    expect((await inMoved('$RALPH resume it -m 2').ended).code).toBe(1);
    expect(readFileSync(join(moved, 'a'), 'utf8')).toBe('2\n');
    const status = await inMoved('$RALPH status it').ended;
    expect(status.stdout).toContain('Iteration: 2/2');
    rmSync(moved, { recursive: true });
    expect((await stage.shell('$RALPH rm --gone').ended).stdout).toBe(
      `removed it of ${moved}\nremoved other of ${moved}\n`,
    );
    expect((await stage.shell('$RALPH ls --all').ended).stdout).toBe('');
    expect(readdirSync(join(root(stage), 'loops'))).toEqual([]);
    await stage.run(...work, '-m', '1');
    rmSync(stage.files('it').state, { recursive: true });
    expect((await stage.ralph('rm', '--gone').ended).stdout).toBe(
      `removed it of ${stage.workspace}, whose state is gone\n`,
    );
  });
});

/** Waits until this many of the commands have ended. */
async function until(commands: readonly Ralph[], count: number): Promise<void> {
  const running = new Set(commands);
  for (let ended = 0; ended < count; ended++) {
    const ends = [...running].map(async (one) => {
      await one.ended;
      return one;
    });
    // oxlint-disable-next-line no-await-in-loop -- one after the other, as they end
    running.delete(await Promise.race(ends));
  }
}

describe('a name', () => {
  it('goes to one of ten processes that want it at the same time', async () => {
    const stage = openLoadedStage();
    stage.plans('default', `${waitFor()}; ${DONE}`);
    const wanting = Array.from({ length: 10 }, () => stage.starts(...work));
    await stage.waitForCall(1);
    // The winner holds its lock until the others have been refused.
    await until(wanting, 9);
    stage.release();
    const ends = await Promise.all(wanting.map(({ ended }) => ended));
    expect(ends.filter(({ code }) => code === 0)).toHaveLength(1);
    expect(ends.filter(({ code }) => code === 2)).toHaveLength(9);
    expect(stage.calls).toBe(1);
    expect(readdirSync(join(root(stage), 'loops'))).toHaveLength(1);
  });
});
