/**
 * What an agent in a sandbox leaves for the git of Ralph, which runs after it: none of it reaches more than the agent did.
 *
 * @module-tag bwrap
 */
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { linksBelow } from '../../src/git/links.ts';
import { branchAt, COMMIT, commits, contents, DONE, hook, openCage, withRemote } from './cage-stage.ts';

describe('links in the git folder', () => {
  it('lead no commit of Ralph out of it', async () => {
    const { stage, inHome } = openCage();
    const names = ['.bashrc', '.profile', '.zshrc'];
    const victims = names.map((name) => inHome(name, 'as it was\n'));
    const folder = dirname(inHome('refs/kept', ''));
    stage.plans(
      1,
      [
        'echo x >made',
        `ln -sf ${victims[0]} .git/COMMIT_EDITMSG`,
        `ln -sf ${victims[1]} .git/logs/HEAD`,
        `ln -sf ${victims[2]} .git/logs/refs/heads/master`,
        `for i in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do for j in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do [ -e .git/objects/$i$j ] || ln -s ${folder} .git/objects/$i$j; done; done`,
        DONE,
      ].join('\n'),
    );
    const { code, stderr } = await stage.run(...COMMIT);
    expect(code).toBe(0);
    expect(contents(victims)).toEqual(victims.map(() => 'as it was\n'));
    expect(readdirSync(folder)).toEqual(['kept']);
    // They are gone, since the user's own git would follow them.
    expect(stderr).toContain(
      `warning: the agent has made ${stage.path('.git/COMMIT_EDITMSG')}, which programs`,
    );
    expect(linksBelow(stage.path('.git'))).toEqual([]);
    expect(stage.git('log', '-1', '--format=%s')).toBe('Work\n');
  });

  it('lead no record of Ralph out of it', async () => {
    const { stage, inHome } = openCage();
    const folder = dirname(inHome('refs/kept', ''));
    stage.plans(1, `rm -rf .git/refs/ralph && ln -s ${folder} .git/refs/ralph; ${DONE}`);
    commits(stage);
    const { code } = await stage.run(...COMMIT);
    expect(code).toBe(0);
    expect(readdirSync(folder)).toEqual(['kept']);
    expect(linksBelow(stage.path('.git'))).toEqual([]);
  });

  it('in the place of HEAD, the index and packed-refs are put back as they were', async () => {
    const { stage, inHome } = openCage();
    stage.git('branch', 'other');
    stage.git('pack-refs', '--all');
    stage.write('staged', 'staged');
    stage.git('add', 'staged');
    const names = ['HEAD', 'index', 'packed-refs'].map((name) => stage.path(`.git/${name}`));
    const before = contents(names);
    const victim = inHome('victim', 'ref: refs/heads/other\n');
    stage.plans(1, `${names.map((name) => `ln -sf ${victim} ${name}`).join('; ')}; ${DONE}`);
    commits(stage);
    const { stderr } = await stage.run(...COMMIT);
    expect(contents(names)).toEqual(before);
    for (const name of names)
      expect(stderr).toContain(`warning: the agent has made ${name} lead elsewhere; it was put back`);
    expect(stage.git('status', '--porcelain', '-uno')).toBe('A  staged\n');
    expect(contents([victim])).toEqual(['ref: refs/heads/other\n']);
  });

  it('that were there before a run stay, and refuse a worktree', async () => {
    const { stage, inHome } = openCage();
    const elsewhere = inHome('logs', '');
    stage.plans(1, DONE);
    commits(stage);
    execFileSync('ln', ['-s', elsewhere, stage.path('.git/logs/refs/heads/other')]);
    await stage.run(...COMMIT);
    expect(linksBelow(stage.path('.git'))).toHaveLength(1);
    const { code, stderr } = await stage.ralph(
      'run',
      '--name',
      'two',
      '--worktree',
      '-p',
      'x',
      '--',
      stage.agent,
    ).ended;
    expect(code).toBe(2);
    expect(stderr).toContain(
      '.git/logs/refs/heads/other is a symbolic link, which git would follow; remove it',
    );
  });

  it('do not let it write the index of another repository', async () => {
    const { stage, inHome } = openCage();
    const other = dirname(inHome('other/file', 'x'));
    execFileSync('git', ['init', '-q'], { cwd: other, env: stage.env });
    execFileSync('git', ['add', '.'], { cwd: other, env: stage.env });
    const [before] = contents([join(other, '.git/index')]);
    stage.plans(1, `echo x >made; ln -sf ${other}/.git/index .git/index; ${DONE}`);
    await stage.run(...COMMIT);
    expect(contents([join(other, '.git/index')])).toEqual([before]);
    expect(stage.git('show', '--name-only', '--format=', 'HEAD')).toBe('made\n');
  });
});

describe('hooks of a commit', () => {
  it('run in the sandbox: husky and a script of the workspace, which the agent writes', async () => {
    const cage = openCage();
    const { stage, canary } = cage;
    hook(cage, '.husky/_/pre-commit', 'sh .husky/pre-commit && sh lint.sh && echo ran >"$FAKE_PLAN/hook"');
    stage.git('config', 'core.hooksPath', '.husky/_');
    const sing = `touch ${canary} 2>/dev/null`;
    stage.plans(1, `echo '${sing}' >.husky/pre-commit; echo '${sing}; true' >lint.sh; ${DONE}`);
    stage.write('.husky/pre-commit', 'true');
    await stage.run(...COMMIT);
    expect(cage.hasSung()).toBe(false);
  });

  it('run where they may write what the agent may, and a commit is made', async () => {
    const cage = openCage();
    const { stage } = cage;
    hook(cage, '.git/hooks/pre-commit', 'echo ran >"$FAKE_PLAN/hook"');
    stage.plans(1, `echo x >made; ${DONE}`);
    const { code } = await stage.run(...COMMIT);
    expect(code).toBe(0);
    expect(stage.hasPlanFile('hook')).toBe(true);
    expect(stage.git('show', '--name-only', '--format=%s', 'HEAD')).toContain('made');
    expect(stage.git('status', '--porcelain', '-uno')).toBe('');
    expect(stage.git('ls-tree', '--name-only', 'HEAD')).toContain('README.md');
  });

  it('that may not write name the setting', async () => {
    const cage = openCage();
    const { stage, canary } = cage;
    hook(cage, '.git/hooks/pre-commit', `touch ${canary}`);
    stage.plans(1, `echo x >made; ${DONE}`);
    const { stderr } = await stage.run(...COMMIT);
    expect(cage.hasSung()).toBe(false);
    expect(stderr).toContain('Read-only file system');
    expect(stderr).toContain('add the folder to sandbox.write');
    expect(stage.git('log', '-1', '--format=%s')).toBe('begin\n');
  });

  it('run in it from a folder that did not exist, in a worktree', async () => {
    const cage = openCage();
    const { stage, canary } = cage;
    stage.git('config', 'core.hooksPath', '.hooks');
    stage.write('.gitignore', '.hooks\n');
    stage.git('add', '.gitignore');
    stage.git('commit', '-qm', 'ignore');
    stage.plans(
      1,
      `echo x >made; mkdir .hooks; printf '#!/bin/sh\\ntouch ${canary}; exit 0\\n' >.hooks/pre-commit; chmod +x .hooks/pre-commit; ${DONE}`,
    );
    await stage.run(...COMMIT, '--worktree');
    expect(cage.hasSung()).toBe(false);
  });

  it('run in it before a push, which runs none', async () => {
    const cage = openCage();
    const { stage, canary } = cage;
    const remote = withRemote(cage);
    hook(
      cage,
      '.git/hooks/pre-push',
      `cat >"$FAKE_PLAN/pushed"; echo "$1" "$2" >>"$FAKE_PLAN/pushed"; sh lint.sh`,
    );
    stage.write('lint.sh', 'true');
    stage.plans(1, `echo 'touch ${canary} 2>/dev/null; true' >lint.sh; ${DONE}`);
    commits(stage, 'commit', 'push origin HEAD:master');
    const { stderr } = await stage.run(...COMMIT);
    expect(stderr).not.toContain('failed');
    expect(cage.hasSung()).toBe(false);
    const head = stage.git('rev-parse', 'HEAD').trim();
    expect(stage.planFiles(/^pushed$/)[0]).toBe(
      `refs/heads/master ${head} refs/heads/master ${'0'.repeat(40)}\norigin ${remote}\n`,
    );
    expect(branchAt(cage, remote).trim()).toBe(head);
  });
});

describe('filters that the agent has planted', () => {
  const filter = (canary: string): string => `printf '[filter "x"]\\n\\tclean = "touch ${canary}; cat"\\n'`;

  it('run in the sandbox if a file that the configuration includes has them', async () => {
    const cage = openCage();
    const { stage, canary } = cage;
    stage.git('config', 'include.path', '../.gitconfig');
    stage.write('.gitconfig', '');
    stage.plans(1, `${filter(canary)} >.gitconfig; echo '* filter=x' >.gitattributes; echo x >made; ${DONE}`);
    await stage.run(...COMMIT);
    expect(cage.hasSung()).toBe(false);
  });

  it('run in the sandbox when a child starts', { timeout: 120_000 }, async () => {
    const cage = openCage();
    const { stage, canary } = cage;
    stage.git('config', 'extensions.worktreeConfig', 'true');
    const ralph = `${process.execPath} ${stage.main}`;
    stage.plans(
      1,
      `${filter(canary)} >.git/config.worktree; echo '* filter=x' >.gitattributes; echo x >made
${ralph} run --name child -m 1 "x" >"$FAKE_CALL/child" 2>&1; ${DONE}`,
    );
    stage.plans(2, DONE);
    commits(stage);
    await stage.run(...COMMIT);
    expect(stage.given(1, 'child')).toContain('started child');
    expect(cage.hasSung()).toBe(false);
  });

  it(
    'run in the sandbox when a child starts where there was no repository',
    { timeout: 120_000 },
    async () => {
      const cage = openCage();
      const { stage, canary } = cage;
      execFileSync('rm', ['-rf', stage.path('.git')]);
      const ralph = `${process.execPath} ${stage.main}`;
      stage.plans(
        1,
        `git init -q && ${filter(canary)} >>.git/config; echo '* filter=x' >.gitattributes; echo x >made
${ralph} run --name child -m 1 "x" >"$FAKE_CALL/child" 2>&1; ${DONE}`,
      );
      stage.plans(2, DONE);
      commits(stage);
      await stage.run(...COMMIT);
      expect(stage.given(1, 'child')).toContain('started child');
      expect(cage.hasSung()).toBe(false);
    },
  );

  it('run in it in a loop without a sandbox, a diff and a rewind that come later', async () => {
    const cage = openCage();
    const { stage, canary } = cage;
    stage.git('config', 'filter.x.clean', 'sh clean.sh');
    stage.git('config', 'filter.x.smudge', 'sh clean.sh');
    stage.write('clean.sh', 'cat');
    stage.write('.gitattributes', '*.txt filter=x\n');
    stage.plans(1, `echo 'touch ${canary} 2>/dev/null; cat' >clean.sh; echo x >a.txt; ${DONE}`);
    stage.plans(2, `echo y >a.txt; echo z >b.txt; ${DONE}`);
    commits(stage);
    await stage.run(...COMMIT);
    commits(stage, 'commit');
    const other = ['run', '--name', 'other', '--no-sandbox', '-p', 'x', '-m', '1', '--', stage.agent];
    expect(await stage.ralph(...other).ended).toMatchObject({ code: 0 });
    stage.write('a.txt', 'w\n');
    expect(await stage.process('diff', 'it').ended).toMatchObject({ code: 0 });
    expect(await stage.ralph('rewind', 'it', 'start').ended).toMatchObject({ code: 0 });
    expect(cage.hasSung()).toBe(false);
  });
});
