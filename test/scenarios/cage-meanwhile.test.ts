/**
 * What an agent in a sandbox does while Ralph works beside it, or through its checks and hooks, which run after it.
 *
 * @module-tag bwrap
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { gitPlaces } from '../../src/sandbox/git-places.ts';
import { COMMIT, commits, contents, DONE, hook, openCage, withRemote } from './cage-stage.ts';
import { waitFor } from './stage.ts';

/** Shell that makes a copy of the git folder with one more setting, and sends git to it. */
const elsewhere = (key: string, value: string): string =>
  [
    'rm -rf evil; cp -r .git evil; rm -f evil/config; cp .git/config evil/config',
    `git config --file evil/config ${key} "${value}"`,
    'echo ../evil >.git/commondir',
  ].join('\n');

it(
  'the configuration stays read-only while a worktree is made, merged and removed',
  { timeout: 120_000 },
  async () => {
    const { stage } = openCage();
    commits(stage);
    stage.plans(
      1,
      `${waitFor()}; { echo '[x]' >>.git/config; } 2>"$FAKE_CALL/refused"; [ -e .git/config ] && ${DONE}`,
    );
    stage.plans(2, `echo x >made; ${DONE}`);
    const run = stage.starts(...COMMIT);
    await stage.waitForCall(1);
    const two = ['run', '--name', 'two', '--worktree', '--sandbox', '-p', 'x', '-m', '1', '--', stage.agent];
    expect(await stage.ralph(...two).ended).toMatchObject({ code: 0 });
    expect(stage.git('config', '--get-regexp', 'ralphloop')).toContain('two');
    expect(await stage.ralph('worktree', 'rm', 'two', '--force').ended).toMatchObject({ code: 0 });
    stage.release();
    const { code, stderr } = await run.ended;
    expect(code).toBe(0);
    expect(stderr).not.toContain('another program');
    expect(stage.given(1, 'refused')).toContain('Read-only file system');
    expect(contents([stage.path('.git/config')])[0]).not.toMatch(/ralphLoop|\[x\]/);
  },
);

describe('what checks and hooks leave', () => {
  it('is moved aside when the check is over, if it ran in the sandbox', async () => {
    const { stage, hasSung, canary } = openCage({ checks: true });
    commits(stage);
    const plant = `${elsewhere('core.fsmonitor', `touch ${canary}; false`)}\necho '{}' >.mcp.json\nln -s /nowhere .git/LINK`;
    stage.plans(1, `cat >lint.sh <<'X'\n${plant}\nX\n${DONE}`);
    const { stderr } = await stage.run(...COMMIT, '--check', 'sh lint.sh');
    for (const name of ['.git/commondir', '.git/LINK', '.mcp.json']) {
      expect(stderr).toContain(`warning: the agent has made ${stage.path(name)}, which programs`);
      expect(existsSync(stage.path(name))).toBe(false);
    }
    stage.git('status');
    expect(hasSung()).toBe(false);
  });

  it('is moved aside before a push, which runs outside', async () => {
    const cage = openCage();
    const { stage, canary } = cage;
    withRemote(cage);
    hook(cage, '.git/hooks/pre-push', 'sh lint.sh');
    stage.write('lint.sh', 'true');
    const plant = elsewhere('remote.origin.receivepack', `touch ${canary}; git-receive-pack`);
    stage.plans(1, `cat >lint.sh <<'X'\n${plant}\nX\n${DONE}`);
    commits(stage, 'commit', 'push origin HEAD:master');
    const { stderr } = await stage.run(...COMMIT);
    expect(stderr).toContain(`warning: the agent has made ${stage.path('.git/commondir')}, which programs`);
    expect(stderr).not.toContain('failed');
    expect(cage.hasSung()).toBe(false);
  });
});

it('a remote that the agent has named in the git folder is not pushed to', async () => {
  const cage = openCage();
  const { stage, canary } = cage;
  stage.plans(
    1,
    [
      'echo x >made; git init -q --bare evil.git; echo evil.git >>.git/info/exclude',
      `printf '#!/bin/sh\\ntouch ${canary}\\n' >evil.git/hooks/post-receive; chmod +x evil.git/hooks/post-receive`,
      'mkdir -p .git/remotes; echo "URL: $PWD/evil.git" >.git/remotes/origin',
      DONE,
    ].join('\n'),
  );
  commits(stage, 'commit', 'push origin HEAD:master');
  await stage.run(...COMMIT);
  expect(cage.hasSung()).toBe(false);
  expect(readdirSync(stage.path('.git/remotes'))).toEqual([]);
});

it('a git folder that is not that of the working tree is not made writable', async () => {
  const { stage, inHome } = openCage();
  const other = dirname(inHome('other/file', 'x'));
  execFileSync('git', ['init', '-q'], { cwd: other, env: stage.env });
  const look = async (folder: string) => gitPlaces({ command: ['git'], folder, env: stage.env });
  const own = [stage.path('.git')];
  expect((await look(stage.workspace)).write).toEqual(own);
  stage.git('worktree', 'add', '-q', '--detach', stage.path('linked'));
  expect((await look(stage.path('linked'))).write).toEqual([...own, stage.path('.git/worktrees/linked')]);
  stage.git('-c', 'protocol.file.allow=always', 'submodule', 'add', '-q', stage.workspace, 'part');
  expect((await look(stage.path('part'))).write).toEqual([stage.path('.git/modules/part')]);
  stage.write('.git/commondir', `${other}/.git\n`);
  expect((await look(stage.workspace)).write).toEqual([]);
  stage.write('.git/worktrees/linked/commondir', `${other}/.git\n`);
  expect((await look(stage.path('linked'))).write).toEqual([]);
  stage.write('sub/.git', `gitdir: ${other}/.git\n`);
  expect((await look(stage.path('sub'))).write).toEqual([]);
});

it(
  'a worktree that is made during a run leads back to its repository afterwards',
  { timeout: 120_000 },
  async () => {
    const cage = openCage();
    const { stage, canary } = cage;
    commits(stage);
    const plant = elsewhere('core.fsmonitor', `touch ${canary}; false`)
      .replace('.git/commondir', '.git/worktrees/two/commondir')
      .replace('../evil', '"$PWD/evil"');
    const own = 'git config --file .git/worktrees/two/config.worktree core.fsmonitor';
    stage.plans(1, `${waitFor()}; ${plant}\n${own} "touch ${canary}; false"; ${DONE}`);
    stage.git('config', 'extensions.worktreeConfig', 'true');
    const run = stage.starts(...COMMIT);
    await stage.waitForCall(1);
    const tree = stage.path('two');
    stage.git('worktree', 'add', '-q', '--detach', tree);
    stage.release();
    const { stderr } = await run.ended;
    for (const name of ['commondir', 'config.worktree'])
      expect(stderr).toContain(stage.path(`.git/worktrees/two/${name}`));
    stage.git('-C', tree, 'status');
    expect(cage.hasSung()).toBe(false);
  },
);

describe('the configuration, if another program replaces it during a run', () => {
  it('is put back as it was, and the new one is moved aside', async () => {
    const cage = openCage();
    const { stage, canary } = cage;
    commits(stage);
    stage.plans(1, `${waitFor()}; git config core.fsmonitor "touch ${canary}; false"; ${DONE}`);
    const before = stage.read('.git/config');
    const run = stage.starts(...COMMIT);
    await stage.waitForCall(1);
    stage.git('config', 'remote.other.url', '/nowhere');
    stage.release();
    const { stderr } = await run.ended;
    expect(stderr).toContain(
      `warning: another program has replaced ${stage.path('.git/config')} during the run`,
    );
    expect(stage.read('.git/config')).toBe(before);
    stage.git('status');
    expect(cage.hasSung()).toBe(false);
  });

  it('keeps what its branches follow', async () => {
    const cage = openCage();
    const { stage } = cage;
    withRemote(cage);
    stage.git('push', '-q', 'origin', 'HEAD:one');
    stage.git('fetch', '-q');
    commits(stage);
    stage.plans(1, `${waitFor()}; ${DONE}`);
    const run = stage.starts(...COMMIT);
    await stage.waitForCall(1);
    stage.git('branch', '-q', '--track', 'one', 'origin/one');
    stage.release();
    expect((await run.ended).stderr).not.toContain('replaced');
    expect(stage.git('config', 'branch.one.merge')).toBe('refs/heads/one\n');
  });
});

it('settings that another program replaces during a run are named, once', async () => {
  const { stage } = openCage();
  commits(stage);
  stage.write('.mcp.json', '{}');
  stage.write('.claude/settings.json', '{}');
  stage.plans(1, `${waitFor()}; echo x >.mcp.json 2>/dev/null; echo x >>.claude/settings.json; ${DONE}`);
  const run = stage.starts(...COMMIT, '--check', 'true');
  await stage.waitForCall(1);
  stage.write('new.json', '{ }');
  renameSync(stage.path('new.json'), stage.path('.claude/settings.json'));
  stage.release();
  const { stderr } = await run.ended;
  expect(stage.read('.claude/settings.json')).toBe('{ }x\n');
  expect(stderr.split(`another program has changed ${stage.path('.claude/settings.json')}`)).toHaveLength(2);
  expect(stderr).not.toContain(`changed ${stage.path('.mcp.json')}`);
});
