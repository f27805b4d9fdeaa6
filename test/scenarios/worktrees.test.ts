import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openStage, waitFor } from './stage.ts';
import {
  done,
  work,
  openRepository,
  sibling,
  inside,
  architect,
  treeOf,
  status,
  subjects,
  worktrees,
  runs,
  worktree,
  says,
} from './worktree-stage.ts';

describe('a worktree', () => {
  it('S3.13 S3.22 S3.34 S3.35 S3.36 S3.37 S3.38 S3.57 S3.58 has its own branch, contains all edits and is kept (T094)', async () => {
    const stage = openRepository();
    stage.plans(1, `echo 1 >half; git status --porcelain`);
    stage.plans(2, work);
    const { code, stdout, stderr } = await runs(stage, ...architect, '--json');
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 2 });
    for (const call of [1, 2]) expect(stage.given(call, 'cwd')).toBe(`${inside(stage)}\n`);
    expect(stage.git('branch', '--show-current')).toBe('main\n');
    expect(JSON.parse(stdout)).toMatchObject({
      status: 'done',
      worktree: { path: inside(stage), branch: 'architect/ralph-loop' },
    });
    expect(stderr).toContain(`worktree    ${inside(stage)} (branch architect/ralph-loop)`);
    expect(stderr).toContain('ralph worktree merge it, or: git merge architect/ralph-loop');
    // The main tree is unchanged, and git status does not show the worktree.
    expect({ status: status(stage), files: readdirSync(stage.workspace).toSorted() }).toEqual({
      status: '',
      files: ['.architect', '.architect-ralph-worktree', '.git', '.ralph', 'README.md'],
    });
    expect(existsSync(join(inside(stage), '.ralph'))).toBe(false);
    expect(stage.git('diff', '--name-only', 'main', 'architect/ralph-loop')).toBe('half\nwork\n');
    expect(readFileSync(stage.file('progress.md'), 'utf8')).toContain('## Iteration 2');
    // These are the manual steps of the document.
    stage.git('merge', '--quiet', 'architect/ralph-loop');
    stage.git('worktree', 'remove', '.architect-ralph-worktree');
    stage.git('branch', '-D', 'architect/ralph-loop');
    expect(stage.git('ls-files')).toBe('README.md\nhalf\nwork\n');
  });

  it('runs an agent whose path is relative to the workspace', async () => {
    const stage = openRepository();
    stage.plans(1, work);
    const agent = `./${relative(stage.workspace, stage.agent)}`;
    const { code } = await stage.ralph('run', '-p', 'x', '--worktree', '--name', 'it', '--', agent).ended;
    expect({ code, cwd: stage.given(1, 'cwd') }).toEqual({ code: 0, cwd: `${sibling(stage)}\n` });
  });

  it('S3.13 is off by default, and --no-worktree overrides the settings', async () => {
    const stage = openRepository({ worktree: true });
    stage.plans('default', work);
    expect((await stage.run('-p', 'x', '--no-worktree', '--json')).stdout).toContain('"worktree":null');
    expect({ trees: worktrees(stage), status: status(stage) }).toEqual({ trees: 1, status: '?? work\n' });
    rmSync(stage.path('work'));
    expect((await stage.run('-p', 'x')).code).toBe(0);
    expect(existsSync(treeOf(stage)('work'))).toBe(true);
    stage.settings({});
    expect((await stage.run('-p', 'x', '--name', 'b', '--json')).stdout).toContain('"worktree":null');
  });

  it('is beside the repository, on a branch of its name with a commit for every passing iteration', async () => {
    const stage = openRepository();
    stage.write('mine', 'not committed');
    stage.plans(1, 'echo 1 >work');
    stage.plans(2, 'rm work; echo 2 >other');
    stage.plans(3, work);
    const { code, stderr } = await runs(stage);
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 3 });
    expect(stderr).toContain(
      'the workspace has 1 uncommitted change; the worktree starts from the last commit, without it',
    );
    expect(existsSync(treeOf(stage)('mine'))).toBe(false);
    // Two of the three passed the check, and the agent was not asked for a message.
    expect(subjects(stage, 'ralph/it')).toEqual(['Make the work', 'Make the work', 'begin']);
    expect(stage.git('log', '-1', '--format=%b', 'ralph/it').trim()).toBe('Iteration 3 of the loop it.');
    expect(status(stage)).toBe('?? mine\n');
  });

  it('S3.35 keeps uncommitted files if the loop does not complete, and resume continues there', async () => {
    const stage = openRepository();
    stage.plans(1, 'echo 1 >half');
    const { code, stderr } = await runs(stage, '-m', '1');
    expect(code).toBe(1);
    expect(stderr).toContain('uncommitted changes stay there');
    expect(subjects(stage, 'ralph/it')).toEqual(['begin']);
    stage.plans(2, `test -e half && ${work.replace('; ', ' && ')}`);
    expect((await stage.ralph('resume', 'it', '-m', '2').ended).code).toBe(0);
    expect(stage.given(2, 'cwd')).toBe(`${sibling(stage)}\n`);
    expect(stage.git('ls-tree', '--name-only', 'ralph/it')).toBe('README.md\nhalf\nwork\n');
  });

  it('S3.57 S3.59 that cannot be created is an error, and no agent runs in the main tree instead (T095)', async () => {
    const stage = openRepository();
    const refused = async (message: string): Promise<void> => {
      const { code, stderr } = await runs(stage);
      expect({ code, calls: stage.calls, loops: stage.loops }).toEqual({ code: 2, calls: 0, loops: [] });
      expect(stderr).toContain(message);
    };
    stage.git('branch', 'ralph');
    const { code, stderr } = await runs(stage);
    expect(code).toBe(2);
    expect(stderr).toMatch(/cannot create the worktree .*: git worktree failed: .*ralph/);
    expect({ trees: worktrees(stage), calls: stage.calls }).toEqual({ trees: 1, calls: 0 });
    stage.git('branch', '-D', 'ralph');
    rmSync(stage.path('.ralph'), { recursive: true });
    stage.git('config', '--unset', 'user.name');
    stage.git('config', 'user.useConfigOnly', 'true');
    await refused('cannot commit: git has no name and email to commit with');
    stage.git('checkout', '--quiet', '--orphan', 'empty');
    await refused('there is none yet; create one with: git add --all && git commit --allow-empty -m begin');
    rmSync(stage.path('.git'), { recursive: true });
    await refused('--worktree needs a git repository');
    // Without --worktree the loop needs no repository.
    stage.plans('default', work);
    expect((await stage.run('-p', 'x', ...architect, '--check', 'test -e work')).code).toBe(0);
  });

  it('uses the same subfolder of the repository as the workspace', async () => {
    const stage = openRepository();
    stage.write('packages/a b/file', 'x');
    const run = () =>
      stage.shell(
        `cd 'packages/a b' && $RALPH run work --name it --worktree --check 'test -e work' -- ${stage.agent}`,
      ).ended;
    expect(await run()).toMatchObject({ code: 2, stderr: says('not in the last commit') });
    stage.git('add', '.');
    stage.git('commit', '--quiet', '--message', 'a package');
    stage.plans(1, work);
    expect((await run()).code).toBe(0);
    expect(stage.given(1, 'cwd')).toBe(`${treeOf(stage)('packages/a b')}\n`);
    expect(stage.git('show', '--name-only', '--format=', 'ralph/it')).toBe('packages/a b/work\n');
    expect(existsSync(stage.path('packages/a b/.ralph/loops/it/state.json'))).toBe(true);
    const merged = await stage.shell(`cd 'packages/a b' && $RALPH worktree merge it`).ended;
    expect(merged).toMatchObject({ code: 0 });
    expect(existsSync(stage.path('packages/a b/work'))).toBe(true);
  });

  it('can be created from a detached HEAD and inside a git hook', async () => {
    const stage = openRepository();
    stage.git('checkout', '--quiet', '--detach');
    stage.plans(1, `git status --porcelain >"$FAKE_CALL/status"; ${work}`);
    stage.env['GIT_DIR'] = stage.path('.git');
    stage.env['GIT_INDEX_FILE'] = stage.path('.git/index');
    expect((await runs(stage)).code).toBe(0);
    delete stage.env['GIT_DIR'];
    delete stage.env['GIT_INDEX_FILE'];
    expect(stage.git('show', '--name-only', '--format=', 'ralph/it')).toBe('work\n');
    expect(await worktree(stage, 'merge', 'it')).toMatchObject({
      code: 2,
      stderr: says('no branch is checked out'),
    });
    stage.git('switch', '--quiet', 'main');
    expect((await worktree(stage, 'merge', 'it')).code).toBe(0);
  });

  it('has empty submodules unless its set-up fetches them, and commits keep them', async () => {
    const stage = openRepository();
    const library = join(stage.plan, 'library');
    mkdirSync(library);
    const git = (...args: string[]) => execFileSync('git', args, { cwd: library, env: stage.env });
    git('init', '--quiet');
    writeFileSync(join(library, 'code'), 'x');
    git('add', '.');
    git('-c', 'user.name=t', '-c', 'user.email=t@t', 'commit', '--quiet', '--message', 'code');
    stage.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', library, 'sub');
    stage.git('commit', '--quiet', '--message', 'a submodule');
    stage.plans('default', `ls sub; ${work}`);
    const empty = await runs(stage);
    expect(empty.code).toBe(0);
    expect(empty.stdout).not.toContain('code');
    expect(empty.stderr).toContain('submodules are empty in a new worktree');
    expect(stage.git('show', '--name-only', '--format=', 'ralph/it')).toBe('work\n');
    expect((await worktree(stage, 'rm', 'it', '--force')).code).toBe(0);
    stage.settings({ setup: ['git -c protocol.file.allow=always submodule update --init --quiet'] });
    stage.plans(
      2,
      `ls sub; cd sub; echo y >code; git -c user.name=t -c user.email=t@t commit -qam y; cd ..; ${work}`,
    );
    expect(await runs(stage)).toMatchObject({ code: 0, stdout: says('code') });
    expect((await worktree(stage, 'merge', 'it', '--no-checks')).code).toBe(0);
    // The worktree has the only copy of the commit in the submodule.
    expect(await worktree(stage, 'rm', 'it')).toMatchObject({
      code: 2,
      stderr: says('unpushed commits in sub'),
    });
    expect((await worktree(stage, 'rm', 'it', '--force')).code).toBe(0);
    expect(worktrees(stage)).toBe(1);
  });

  it('has a branch and a folder for a loop with a name that no branch could have', async () => {
    const stage = openRepository();
    stage.plans('default', work);
    // `refPart` has a test for each kind of name.
    const name = `${'a'.repeat(52)}-1_B..c.lock`;
    const ran = await stage.ralph('run', 'x', '--name', name, '--worktree', '--', stage.agent).ended;
    expect({ code: ran.code, there: existsSync(treeOf(stage, name)('work')) }).toEqual({
      code: 0,
      there: true,
    });
    expect((await worktree(stage, 'merge', name)).code).toBe(0);
    expect((await worktree(stage, 'rm', name)).code).toBe(0);
    expect(stage.git('for-each-ref', '--format=%(refname)', 'refs/heads')).toBe('refs/heads/main\n');
    expect(existsSync(dirname(sibling(stage)))).toBe(false);
  });

  it('belongs to one loop at a time, and several loops can each have one', async () => {
    const stage = openRepository(null, openStage);
    stage.plans('default', `${waitFor()}; touch "$RALPH_LOOP"; ${work}`);
    const run = (name: string, ...more: string[]) =>
      stage.ralph('run', 'x', '--name', name, '--worktree', ...more, '--', stage.agent);
    const both = [run('a'), run('b')];
    await stage.waitForCall(1);
    await stage.waitForCall(2);
    const third = ['--preset', 'architect', '--check', 'true', '--completion-tag', 'DONE'];
    const holder = run('c', ...third);
    await stage.waitForCall(3);
    const refused = await run('d', ...third).ended;
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain(`the loop "c" of ${stage.workspace} is running in ${inside(stage)}`);
    stage.release();
    expect(await Promise.all([...both, holder].map(async ({ ended }) => (await ended).code))).toEqual([
      0, 0, 0,
    ]);
    for (const name of ['a', 'b']) {
      expect(stage.git('show', '--name-only', '--format=', `ralph/${name}`)).toBe(`${name}\nwork\n`);
    }
    expect(status(stage)).toBe('');
  });
});

describe('an old worktree', () => {
  it('S3.57 with uncommitted files or unmerged commits is never deleted (T094)', async () => {
    const stage = openRepository();
    stage.plans('default', work);
    expect((await runs(stage, ...architect)).code).toBe(0);
    const again = () => runs(stage, ...architect);
    const unmerged = await again();
    expect(unmerged.code).toBe(2);
    expect(unmerged.stderr).toContain('has work that is saved nowhere else: 1 unmerged commit');
    expect(unmerged.stderr).toContain('git log main..architect/ralph-loop');
    expect(unmerged.stderr).toContain('ralph worktree merge it');
    expect(unmerged.stderr).toContain('ralph worktree rm it --force');
    // The loop still exists and can be merged.
    expect(stage.loops).toEqual(['it']);
    expect((await worktree(stage, 'merge', 'it')).code).toBe(0);
    writeFileSync(join(inside(stage), 'unsaved'), 'x');
    const dirty = await again();
    expect({ code: dirty.code, unsaved: existsSync(join(inside(stage), 'unsaved')) }).toEqual({
      code: 2,
      unsaved: true,
    });
    expect(dirty.stderr).toContain(`git -C ${inside(stage)} status`);
    // Another loop does not replace it either, nor one of the same name without a worktree.
    const other = await stage.ralph(
      'run',
      'x',
      '--name',
      'b',
      '--worktree',
      ...architect,
      '--check',
      'true',
      '--',
      stage.agent,
    ).ended;
    expect(other).toMatchObject({ code: 2, stderr: says('ralph worktree rm it --force') });
    expect(await stage.run('-p', 'x')).toMatchObject({
      code: 2,
      stderr: says('still has its worktree'),
    });
    rmSync(join(inside(stage), 'unsaved'));
    stage.plans(2, `echo 2 >work; ${done}`);
    const replaced = await again();
    expect(replaced.code).toBe(0);
    expect(replaced.stderr).toContain('replaced the old worktree');
  });

  it('S3.57 that is not the loop’s is left alone, and so is a folder in its place', async () => {
    const stage = openRepository();
    mkdirSync(sibling(stage), { recursive: true });
    writeFileSync(treeOf(stage)('precious'), 'x');
    expect(await runs(stage)).toMatchObject({ code: 2, stderr: says('is in the way') });
    rmSync(sibling(stage), { recursive: true });
    stage.git('worktree', 'add', '--quiet', '-b', 'ralph/it', join(stage.plan, 'elsewhere'));
    expect(await runs(stage)).toMatchObject({
      code: 2,
      stderr: says(`the branch ralph/it is checked out in ${join(stage.plan, 'elsewhere')}`),
    });
    expect(stage.calls).toBe(0);
  });

  it('whose folder is gone makes resume fail and print how to restore it', async () => {
    const stage = openRepository();
    stage.plans(1, 'echo 1 >half');
    expect((await stage.run('-p', 'x', '--worktree', '-m', '1')).code).toBe(1);
    rmSync(sibling(stage), { recursive: true });
    const { code, stderr } = await stage.ralph('resume', 'it', '-m', '2').ended;
    expect(code).toBe(2);
    expect(stderr).toContain('its commits are on the branch ralph/it');
    const command = /git worktree prune && git worktree add \S+ \S+(?=,)/.exec(stderr)?.[0] ?? 'false';
    expect((await stage.shell(command).ended).code).toBe(0);
    stage.plans(2, `test -e half && ${done}`);
    expect((await stage.ralph('resume', 'it', '-m', '2').ended).code).toBe(0);
  });

  it('that disappears during the loop ends it at once, and no agent runs elsewhere instead', async () => {
    const stage = openRepository();
    stage.plans(1, `cd /; rm -rf '${sibling(stage)}'`);
    const { code, stderr } = await runs(stage, '-m', '3');
    expect({ code, calls: stage.calls, status: status(stage) }).toEqual({ code: 3, calls: 1, status: '' });
    expect(stderr).toContain(`error: cannot start /bin/sh in ${sibling(stage)}`);
    expect((await stage.ralph('resume', 'it').ended).stderr).toContain('git worktree add');
    expect((await worktree(stage, 'rm', 'it')).code).toBe(0);
  });

  it('contains the file of --done-file', async () => {
    const stage = openRepository();
    stage.plans(1, 'touch FINISHED');
    expect((await stage.run('-p', 'x', '--worktree', '--done-file', 'FINISHED', '-m', '1')).code).toBe(0);
    expect(status(stage)).toBe('');
  });

  it('without commits is not listed as merged, also if its set-up failed', async () => {
    const stage = openRepository();
    stage.plans('default', 'true');
    await stage.run('-p', 'x', '--worktree', '-m', '1');
    expect((await worktree(stage, 'ls')).stdout).toMatch(/it +ralph\/it +clean +none yet +iterations-ex/);
    stage.settings({ setup: ['false'] });
    expect((await stage.run('-p', 'x', '--worktree', '-m', '1', '--fresh')).code).toBe(2);
    expect((await worktree(stage, 'ls')).stdout).toMatch(/it +ralph\/it +clean +none yet +bad-input/);
    const [listed] = readJson((await worktree(stage, 'ls', '--json')).stdout);
    expect(listed).toMatchObject({ isMerged: false });
  });

  it('prevents the removal of its loop until it is removed itself', async () => {
    const stage = openRepository();
    stage.plans('default', work);
    expect((await runs(stage)).code).toBe(0);
    const [listed] = readJson((await worktree(stage, 'ls', '--json')).stdout);
    expect(listed).toMatchObject({
      name: 'it',
      branch: 'ralph/it',
      path: sibling(stage),
      state: 'clean',
      isMerged: false,
      status: 'done',
    });
    expect((await worktree(stage, 'ls')).stdout).toMatch(/it +ralph\/it +clean +ahead \(1\) +done/);
    // Without its .git, Ralph cannot tell what is new in it.
    rmSync(treeOf(stage)('.git'));
    stage.git('tag', 'kept', 'ralph/it');
    expect((await worktree(stage, 'ls')).stdout).toMatch(/it +ralph\/it +broken +merged/);
    const broken = says(`cannot inspect ${sibling(stage)}: it is no longer a valid git worktree`);
    expect(await worktree(stage, 'rm', 'it')).toMatchObject({ code: 2, stderr: broken });
    expect(await runs(stage)).toMatchObject({ code: 2, stderr: broken });
    stage.git('worktree', 'repair');
    stage.git('tag', '--delete', 'kept');
    expect(await stage.ralph('rm', 'it').ended).toMatchObject({
      code: 2,
      stderr: says('ralph worktree rm it'),
    });
    expect(await worktree(stage, 'rm', 'it')).toMatchObject({
      code: 2,
      stderr: says('1 unmerged commit'),
    });
    expect(await worktree(stage, 'rm', 'it', '--force')).toMatchObject({
      code: 0,
      stdout: `removed ${sibling(stage)} and branch ralph/it; discarded 1 unmerged commit\n`,
    });
    expect(await worktree(stage, 'rm', 'it')).toMatchObject({
      code: 0,
      stdout: 'the worktree of it is already gone\n',
    });
    expect((await worktree(stage, 'ls', '--json')).stdout).toBe('[]\n');
    expect({ trees: worktrees(stage), loops: stage.loops }).toEqual({ trees: 1, loops: ['it'] });
    expect((await stage.ralph('rm', 'it').ended).code).toBe(0);
    expect(stage.git('for-each-ref', '--format=%(refname)')).toBe('refs/heads/main\n');
  });
});

function readJson(text: string): readonly unknown[] {
  const value: unknown = JSON.parse(text);
  return Array.isArray(value) ? value : [];
}
