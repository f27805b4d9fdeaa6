import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openStage, waitFor, type Stage } from './stage.ts';
import {
  work,
  openRepository,
  sibling,
  treeOf,
  status,
  subjects,
  worktrees,
  runs,
  worktree,
  says,
  matches,
} from './worktree-stage.ts';

describe('the creation of a worktree', () => {
  it('starts over after a SIGKILL, and leaves no process of the first attempt', async () => {
    const stage = openRepository(null, openStage);
    stage.write('.gitattributes', 'README.md filter=slow\n');
    stage.git('add', '.gitattributes');
    stage.git('commit', '--quiet', '--message', 'slow');
    stage.git('config', 'filter.slow.smudge', `: >"$FAKE_PLAN/half"; ${waitFor()}; cat`);
    const killed = stage.starts('-p', 'x', '--worktree');
    await stage.waitForFile(join(stage.plan, 'half'));
    killed.signal('SIGKILL');
    await killed.ended;
    stage.git('config', '--unset', 'filter.slow.smudge');
    stage.plans('default', work);
    expect(await runs(stage)).toMatchObject({ code: 0, stderr: says('replaced the old worktree') });
    expect({ running: stage.running, trees: worktrees(stage) }).toEqual({ running: [], trees: 2 });
  });
});

describe('the set-up', () => {
  it('runs once in a new worktree, logs to the loop’s folder, and is not part of the commits', async () => {
    const setup = ['echo ready >.ready; echo "got ready"', 'echo x >>"$FAKE_PLAN/times"'];
    const stage = openRepository({ worktree: true, setup });
    stage.plans(1, 'cat .ready');
    stage.plans(2, work);
    const { code, stdout, stderr } = await runs(stage);
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: says('ready') });
    expect(stderr).toContain('set-up started: echo ready');
    expect(stderr).toMatch(/set-up done: echo x .* \(\d\.\ds\)/);
    expect(readFileSync(stage.file('setup/echo_ready_ready_echo_got_ready.log'), 'utf8')).toBe('got ready\n');
    expect(readFileSync(join(stage.plan, 'times'), 'utf8')).toBe('x\n');
    expect(stage.git('show', '--name-only', '--format=', 'ralph/it')).toBe('work\n');
    // Its files do not count as unsaved work after a merge either.
    stage.git('merge', '--quiet', 'ralph/it');
    expect((await worktree(stage, 'rm', 'it')).code).toBe(0);
  });

  it('that fails ends the loop before the first iteration, and resume retries it', async () => {
    const stage = openRepository({
      setup: ['touch litter; echo no such package >&2; test -e "$FAKE_PLAN/go"'],
    });
    stage.plans('default', work);
    const failed = await runs(stage);
    expect({ code: failed.code, calls: stage.calls }).toEqual({ code: 2, calls: 0 });
    expect(failed.stderr).toMatch(/set-up failed: .*exit code 1.*no such package/);
    expect(existsSync(treeOf(stage)('litter'))).toBe(true);
    // The worktree has no work in it yet, so Ralph replaces it.
    const again = await runs(stage);
    expect(again.code).toBe(2);
    expect(again.stderr).toMatch(/replaced the old worktree[^]*set-up failed/);
    // Ralph keeps what a person changed there, also after another attempt.
    writeFileSync(treeOf(stage)('README.md'), 'by hand');
    const refused = { code: 2, stderr: says('nowhere else: 1 uncommitted change\n') };
    expect(await runs(stage)).toMatchObject(refused);
    expect((await stage.ralph('resume', 'it').ended).code).toBe(2);
    expect(await runs(stage)).toMatchObject({ code: 2, stderr: says('nowhere else: 2 uncommitted changes') });
    expect(readFileSync(treeOf(stage)('README.md'), 'utf8')).toBe('by hand');
    stage.release();
    expect((await stage.ralph('resume', 'it').ended).code).toBe(0);
    expect(stage.git('show', '--name-only', '--format=', 'ralph/it')).toBe('work\n');
  });

  it('that times out is killed', async () => {
    const stage = openRepository({ setup: ['sleep 300 & sleep 300'], setupTimeout: '200ms' });
    const { code, stderr } = await runs(stage);
    expect({ code, calls: stage.calls }).toEqual({ code: 2, calls: 0 });
    expect(stderr).toContain('timed out after 0.2 s');
  });

  it('is killed by Ctrl-C, and resume runs it again, also after a crash during it', async () => {
    const stage = openRepository({ setup: [`echo x >>"$FAKE_PLAN/times"; ${waitFor()}`] }, openStage);
    stage.plans('default', work);
    const first = stage.starts('-p', 'x', '--worktree', '--check', 'test -e work');
    await stage.waitForFile(join(stage.plan, 'times'));
    first.signal('SIGINT');
    expect((await first.ended).code).toBe(130);
    expect(stage.running).toEqual([]);
    const second = stage.process('resume', 'it');
    await second.until('set-up started');
    second.signal('SIGKILL');
    await second.ended;
    const third = stage.ralph('resume', 'it');
    await third.until('set-up started');
    stage.release();
    expect((await third.ended).code).toBe(0);
    expect(stage.calls).toBe(1);
  });
});

describe('a merge', () => {
  /** A repository whose loop `it` has completed in its worktree. */
  const openCompleted = (settings: object | null = null, ...more: string[]): Promise<Stage> =>
    complete(openRepository(settings), ...more);
  async function complete(stage: Stage, ...more: string[]): Promise<Stage> {
    stage.plans(1, work);
    expect((await runs(stage, ...more)).code).toBe(0);
    return stage;
  }
  const commitFile = (stage: Stage, file: string, content: string): void => {
    stage.write(file, content);
    stage.git('add', file);
    stage.git('commit', '--quiet', '--message', file);
  };

  it('is tested with set-up and checks before it moves the checked-out branch', async () => {
    const stage = await openCompleted(
      { setup: ['pwd >>"$FAKE_PLAN/setups"'] },
      '--check',
      'test -e README.md',
    );
    commitFile(stage, 'theirs', 'x');
    stage.write('README.md', 'changed by hand');
    writeFileSync(treeOf(stage)('rest'), 'not committed');
    const { code, stdout, stderr } = await worktree(stage, 'merge', 'it');
    expect(stderr).toContain('committed 1 uncommitted file of the worktree to ralph/it');
    expect(stderr).toContain('check passed: test -e README.md');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^merged ralph\/it into main \([0-9a-f]{7}\): 2 commits\n/);
    expect(stage.git('ls-files')).toBe('README.md\nrest\ntheirs\nwork\n');
    expect(status(stage)).toBe(' M README.md\n');
    expect(subjects(stage, 'main')[0]).toBe("Merge branch 'ralph/it'");
    expect(readFileSync(join(stage.plan, 'setups'), 'utf8').trim().split('\n')).toEqual([
      sibling(stage),
      join(dirname(sibling(stage)), '.merge-it'),
    ]);
    expect({ trees: worktrees(stage), state: (await worktree(stage, 'ls')).stdout }).toMatchObject({
      trees: 2,
      state: matches(/clean +merged/),
    });
    expect((await worktree(stage, 'merge', 'it')).stdout).toContain('main already contains ralph/it');
  });

  it('that conflicts leaves both sides unchanged', async () => {
    const stage = await openCompleted();
    commitFile(stage, 'work', 'other');
    const before = stage.git('for-each-ref');
    const { code, stderr } = await worktree(stage, 'merge', 'it');
    expect(code).toBe(1);
    expect(stderr).toContain('ralph/it cannot be merged into main: conflicts in work');
    expect(stderr).toContain(`git -C ${sibling(stage)} merge main`);
    expect({ refs: stage.git('for-each-ref'), trees: worktrees(stage), status: status(stage) }).toEqual({
      refs: before,
      trees: 2,
      status: '',
    });
  });

  it('whose result fails a check changes nothing, except with --no-checks', async () => {
    const stage = await openCompleted(null, '--check', 'test ! -e theirs || { echo both are here; false; }');
    commitFile(stage, 'theirs', 'x');
    const before = stage.git('for-each-ref');
    const { code, stderr } = await worktree(stage, 'merge', 'it');
    expect(code).toBe(1);
    expect(stderr).toContain('the merged result fails the checks: nothing was merged');
    expect(stderr).toMatch(/failed +test ! -e theirs .*\(exit 1\): both are here/);
    expect({ refs: stage.git('for-each-ref'), trees: worktrees(stage) }).toEqual({ refs: before, trees: 2 });
    expect((await worktree(stage, 'merge', 'it', '--no-checks')).code).toBe(0);
  });

  it('is rejected while the loop runs, during another merge and over local changes', async () => {
    const stage = openRepository();
    stage.plans(1, `${waitFor()}; ${work}`);
    const running = stage.starts('-p', 'x', '--worktree');
    await stage.waitForCall(1);
    expect(await worktree(stage, 'merge', 'it')).toMatchObject({
      code: 2,
      stderr: says('is running'),
    });
    expect(await worktree(stage, 'rm', 'it', '--force')).toMatchObject({ code: 2 });
    stage.release();
    expect((await running.ended).code).toBe(0);
    // Another loop has this worktree as its workspace.
    stage.plans(2, waitFor('on'));
    const inside = stage.shell(`cd '${sibling(stage)}' && $RALPH run x --name in -m 1 -- ${stage.agent}`);
    await stage.waitForCall(2);
    expect(await worktree(stage, 'rm', 'it', '--force')).toMatchObject({
      code: 2,
      stderr: says(`the loop "in" of ${sibling(stage)} is running in`),
    });
    stage.release('on');
    await inside.ended;
    stage.write('work', 'mine, not committed');
    expect(await worktree(stage, 'merge', 'it')).toMatchObject({
      code: 1,
      stderr: says('the merge would overwrite local changes: work'),
    });
    expect(stage.read('work')).toBe('mine, not committed');
    stage.write('.git/MERGE_HEAD', stage.git('rev-parse', 'HEAD'));
    expect(await worktree(stage, 'merge', 'it')).toMatchObject({
      code: 2,
      stderr: says('a merge is in progress'),
    });
  });

  it.each(['SIGINT', 'SIGKILL'] as const)('that gets %s changes nothing and can be rerun', async (signal) => {
    const check = `test "$(basename "$PWD")" = it || { : >"$FAKE_PLAN/merging"; ${waitFor()}; }`;
    const stage = await complete(openRepository(null, openStage), '--check', check);
    commitFile(stage, 'theirs', 'x');
    const before = stage.git('for-each-ref');
    const merge = stage.ralph('worktree', 'merge', 'it');
    await stage.waitForFile(join(stage.plan, 'merging'));
    merge.signal(signal);
    expect((await merge.ended).code).toBe(signal === 'SIGINT' ? 130 : 'SIGKILL');
    expect({ refs: stage.git('for-each-ref'), status: status(stage) }).toEqual({ refs: before, status: '' });
    // After a SIGKILL, only the next merge can remove the temporary worktree.
    const left = signal === 'SIGINT' ? 2 : 3;
    expect(worktrees(stage)).toBe(left);
    stage.release();
    expect((await worktree(stage, 'merge', 'it')).code).toBe(0);
    expect(readdirSync(dirname(sibling(stage)))).toEqual(['it']);
    expect(stage.git('ls-files')).toBe('README.md\ntheirs\nwork\n');
  });

  it('commits nothing that a hook rejects', async () => {
    const stage = await openCompleted();
    stage.write('.git/hooks/pre-commit', '#!/bin/sh\necho not like this >&2\nexit 1\n');
    chmodSync(stage.path('.git/hooks/pre-commit'), 0o755);
    writeFileSync(treeOf(stage)('rest'), 'x');
    const { code, stderr } = await worktree(stage, 'merge', 'it');
    expect(code).toBe(1);
    expect(stderr).toContain('not like this');
    expect(execFileSync('git', ['status', '--porcelain'], { cwd: sibling(stage), encoding: 'utf8' })).toBe(
      '?? rest\n',
    );
  });

  it('does not overwrite files that git ignores in the main tree', async () => {
    const stage = openRepository();
    stage.write('.gitignore', 'precious\n');
    stage.git('add', '.gitignore');
    stage.git('commit', '--quiet', '--message', 'ignore it');
    stage.write('precious', 'mine');
    stage.plans(1, `: >.gitignore; echo theirs >precious; ${work}`);
    expect((await runs(stage)).code).toBe(0);
    expect(await worktree(stage, 'merge', 'it')).toMatchObject({ code: 1, stderr: says('precious') });
    expect([stage.read('precious'), subjects(stage, 'main')[0]]).toEqual(['mine', 'ignore it']);
  });

  it('ignores the user’s mergeOptions, and rejects a branch that is not the loop’s', async () => {
    const stage = await openCompleted();
    stage.git('config', 'branch.main.mergeOptions', '--squash');
    expect((await worktree(stage, 'merge', 'it')).code).toBe(0);
    expect([subjects(stage, 'main')[0], status(stage)]).toEqual(['Make the work', '']);
    expect((await worktree(stage, 'rm', 'it')).code).toBe(0);
    stage.git('branch', 'ralph/it');
    expect(await worktree(stage, 'merge', 'it')).toMatchObject({
      code: 2,
      stderr: says('no longer belongs to "it"'),
    });
    expect(await worktree(stage, 'rm', 'it', '--force')).toMatchObject({ stdout: says('already gone') });
    expect(stage.git('branch', '--list', 'ralph/it')).toContain('ralph/it');
  });

  it('explains how to recover the commits of an agent that left the branch', async () => {
    const stage = openRepository();
    stage.plans(1, `git checkout --quiet --detach; git commit --quiet --allow-empty -m own; ${work}`);
    await runs(stage);
    const { code, stderr } = await worktree(stage, 'merge', 'it');
    expect(code).toBe(2);
    expect(stderr).toContain(`switch -C ralph/it`);
  });
});
