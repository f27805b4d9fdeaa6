/** Advice to run git and other programs. */
import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { DONE, follow, said, type Advice } from './follow.ts';
import type { Stage } from './stage.ts';

const once = ['--name', 'it', '-p', 'x', '-m', '1'];
const run = async (stage: Stage, ...args: readonly string[]): Promise<string> =>
  said(await stage.ralph('run', ...once, '--fresh', ...args, '--', stage.agent).ended);

/** Every task of the loop is to be committed; git has a conflict between `master` and `other`. */
function commits(stage: Stage): void {
  stage.identifies();
  stage.git('switch', '--quiet', '-c', 'other');
  stage.write('README.md', 'theirs\n');
  stage.git('commit', '--quiet', '--all', '--message', 'theirs');
  stage.git('switch', '--quiet', 'master');
  stage.write('README.md', 'mine\n');
  stage.git('commit', '--quiet', '--all', '--message', 'mine');
  stage.settings({ scm: { command: 'git', tasks: ['commit'] } });
  stage.env['GIT_EDITOR'] = 'true';
}

const quietly = (stage: Stage, command: string): Promise<unknown> => stage.shell(command).ended;

export const GIT: readonly Advice[] = [
  {
    situation: 'a worktree is wanted where there is no repository, and no commit',
    from: [
      'git/state.ts: git init',
      'workspace/worktree-place.ts: git add --all',
      'workspace/worktree-place.ts: git commit --allow-empty -m',
    ],
    async follow(stage) {
      rmSync(stage.path('.git'), { recursive: true });
      rmSync(stage.path('README.md'));
      await follow(stage, await run(stage, '--worktree'), 'git init');
      stage.identifies();
      await follow(stage, await run(stage, '--worktree'), 'git add --all && git commit');
      expect(await run(stage, '--worktree')).toContain('iteration limit reached');
    },
  },
  {
    situation: 'git is in the middle of something',
    from: [
      'git/state.ts: git … --continue',
      'git/state.ts: git … --abort',
      'git/state.ts: git bisect reset',
      'git/state.ts: git switch -c NAME',
      'git/state.ts: git add',
    ],
    async follow(stage) {
      commits(stage);
      await quietly(stage, 'git merge --quiet other');
      await follow(stage, await run(stage), 'git merge --abort');
      await quietly(stage, 'git cherry-pick other; git add README.md');
      await follow(stage, await run(stage), 'git cherry-pick --continue');
      await quietly(stage, 'git reset --quiet --hard HEAD~1; git merge --quiet --squash other');
      await follow(stage, await run(stage), 'git add', { more: 'README.md' });
      stage.git('reset', '--quiet', '--hard');
      stage.git('bisect', 'start');
      await follow(stage, await run(stage), 'git bisect reset');
      stage.git('checkout', '--quiet', '--detach');
      await follow(stage, await run(stage), 'git switch -c NAME', { write: { NAME: 'new' } });
      expect(await run(stage)).toContain('iteration limit reached');
    },
  },
  {
    situation: 'git does not know who commits',
    from: ['git/state.ts: git config user.name "…"', 'git/state.ts: git config user.email "…"'],
    async follow(stage) {
      stage.settings({ scm: { command: 'git', tasks: ['commit'] } });
      stage.git('config', 'user.useConfigOnly', 'true');
      const refused = await run(stage);
      const inSentence = { write: { '…': 'some@body' }, inSentence: true };
      await follow(stage, refused, 'git config user.name "…"', inSentence);
      await follow(stage, refused, 'git config user.email "…"', inSentence);
      expect(await run(stage)).toContain('iteration limit reached');
    },
  },
  {
    situation: 'another user owns the repository around the workspace',
    from: ['git/state.ts: git config --global --add'],
    async follow(stage) {
      // Otherwise /dev/null, which git would replace by a file where the tests run as root.
      stage.env['GIT_CONFIG_GLOBAL'] = stage.path('global-config');
      stage.env['GIT_TEST_ASSUME_DIFFERENT_OWNER'] = '1';
      const repository = stage.path('a repository');
      mkdirSync(join(repository, 'below'), { recursive: true });
      renameSync(stage.path('.git'), join(repository, '.git'));
      const below = ['--cwd', 'a repository/below', '--worktree'];
      await follow(stage, await run(stage, ...below), 'git config --global --add safe.directory');
      expect(await run(stage, ...below)).not.toContain('another user');
    },
  },
  {
    situation: 'the agent is not executable, from the start or later',
    from: ['owner/choose-agent.ts: chmod +x …', 'hosts/process.ts: chmod +x …'],
    async follow(stage) {
      const agent = stage.path('my agent');
      writeFileSync(agent, '#!/bin/sh\nchmod -x "$0"\n');
      const start = (...args: readonly string[]) => stage.ralph(...args, '--', './my agent').ended;
      const refused = said(await start('run', '--name', 'it', '-p', 'x', '-m', '2'));
      await follow(stage, refused, 'chmod +x');
      const failed = said(await start('run', '--name', 'it', '-p', 'x', '-m', '2'));
      await follow(stage, failed, 'chmod +x');
      chmodSync(agent, 0o755);
      writeFileSync(agent, `#!/bin/sh\n${DONE}\n`);
      expect((await stage.ralph('resume', 'it').ended).code).toBe(0);
    },
  },
  {
    situation: 'a loop is done in its worktree, and is merged by hand',
    // From store/merge-by-hand.ts.
    from: [],
    async follow(stage) {
      stage.identifies();
      stage.plans('default', `echo 1 >work; ${DONE}`);
      const done = await run(stage, '--worktree');
      stage.git('config', 'branch.ralph/it.ralphLoop', 'other');
      const foreign = said(await stage.ralph('worktree', 'merge', 'it').ended);
      await follow(stage, foreign, 'git merge');
      expect(stage.read('work')).toBe('1\n');
      stage.git('reset', '--quiet', '--hard', 'HEAD~1');
      await follow(stage, done, 'git merge');
      expect(stage.read('work')).toBe('1\n');
    },
  },
  {
    situation: 'the repository has lost its worktree, because one of them was moved',
    from: ['workspace/worktree.ts: git worktree'],
    async follow(stage) {
      stage.identifies();
      await run(stage, '--worktree');
      stage.write('.git/worktrees/it/gitdir', '/elsewhere/.git\n');
      const lost = said(await stage.ralph('resume', 'it', '-m', '2').ended);
      await follow(stage, lost, 'git worktree repair');
      expect((await stage.ralph('resume', 'it', '-m', '2').ended).code).toBe(1);
      expect(stage.calls).toBe(2);
    },
  },
  {
    situation: 'a worktree of the user is in the place of that of the loop',
    from: ['workspace/occupied-place.ts: git branch'],
    async follow(stage) {
      stage.identifies();
      const place = join(stage.workspace, '..', 'workspace-worktrees', 'it');
      stage.git('worktree', 'add', '--quiet', '-b', 'ralph/it', place);
      writeFileSync(join(place, 'work'), '');
      await follow(stage, await run(stage, '--worktree'), 'git worktree remove');
      expect(await run(stage, '--worktree')).toContain('iteration limit reached');
    },
  },
];
