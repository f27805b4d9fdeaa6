import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { done, openRepository, ralphCli, remoteOf, status, subjects } from './repository.ts';

describe('a commit', () => {
  it('contains only what the checks saw, and later changes by the agent are reported', async () => {
    const stage = openRepository();
    stage.plans(1, `echo good >f; ${done}`);
    stage.plans(2, 'echo broken >f; echo more >g; echo Fix it');
    const { code, stderr } = await stage.run(...ralphCli, '--check', 'grep -qx good f');
    expect(code).toBe(0);
    expect(stage.git('show', 'HEAD:f')).toBe('good\n');
    expect(stage.git('show', '--format=', '--name-only', 'HEAD')).toBe('f\n');
    expect(stderr).toContain(
      'changed by the agent after the checks, while it wrote the commit message, and not committed: f, g',
    );
    expect(status(stage)).toEqual([' M f', '?? g']);
    expect(stage.state).toMatchObject({ end: { commits: 1 } });
  });

  it('does not get a completion claim as its message', async () => {
    const stage = openRepository();
    stage.plans(1, `echo 1 >f; ${done}`);
    stage.plans(2, done);
    expect((await stage.run(...ralphCli)).code).toBe(0);
    expect(subjects(stage)).toEqual(['work', 'begin']);
  });

  it('by the agent is pushed, and pushed again after a failure', async () => {
    const stage = openRepository({ command: 'git', tasks: ['commit', 'push'] });
    const remote = remoteOf(stage);
    const pushed = () =>
      stage.git('--git-dir', remote, 'log', '--all', '--format=%s').split('\n').slice(0, -1);
    stage.git('remote', 'set-url', 'origin', '/nowhere');
    stage.plans(1, 'echo 1 >f; git add f; git commit -qm mine');
    stage.plans(2, `git remote set-url origin ${remote}`);
    stage.plans(3, done);
    const { code, stderr } = await stage.run(...ralphCli, '-m', '3');
    expect(code).toBe(0);
    expect(stderr).toMatch(/SCM task "push" failed/);
    expect(pushed()).toEqual(['mine', 'begin']);
    expect(stage.calls).toBe(3);
    expect(stage.state).toMatchObject({ end: { commits: 1, commitError: null } });
  });

  it('goes to the repository of the workspace, whatever GIT_DIR says', async () => {
    const stage = openRepository();
    const other = join(stage.plan, 'other');
    stage.git('init', '--quiet', other);
    Object.assign(stage.env, { GIT_DIR: join(other, '.git'), GIT_INDEX_FILE: join(other, '.git/index') });
    stage.plans(1, `echo 1 >work; ${done}`);
    stage.plans(2, 'echo Work');
    const { code } = await stage.run(...ralphCli);
    delete stage.env['GIT_DIR'];
    delete stage.env['GIT_INDEX_FILE'];
    expect({ code, files: stage.git('show', '--format=', '--name-only', 'HEAD') }).toEqual({
      code: 0,
      files: 'work\n',
    });
  });

  it('that the agent makes when asked for a message counts and is pushed', async () => {
    const stage = openRepository({ command: 'git', tasks: ['commit', 'push'] });
    remoteOf(stage);
    stage.plans(1, `echo 1 >work; ${done}`);
    stage.plans(2, 'git add work; git commit --quiet -m "By myself"; echo Done');
    const { code, stderr } = await stage.run(...ralphCli);
    expect(code).toBe(0);
    expect(subjects(stage)).toEqual(['By myself', 'begin']);
    expect(stage.git('rev-parse', '@{push}')).toBe(stage.git('rev-parse', 'HEAD'));
    expect(stderr).toContain('commits     1 ');
  });
});
