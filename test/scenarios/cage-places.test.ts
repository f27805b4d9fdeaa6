/**
 * What an agent in a sandbox leaves for merges, for repositories around its workspace, and in its own folder.
 *
 * @module-tag bwrap
 */
import { chmodSync, mkdirSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { COMMIT, commits, contents, DONE, hook, openCage } from './cage-stage.ts';
import { waitFor } from './stage.ts';

describe('what the configuration names', () => {
  it('is read-only if it is included, at any depth and on any condition, and moved aside if it is new', async () => {
    const { stage } = openCage();
    stage.git('config', 'include.path', '../one.inc');
    stage.git('config', 'includeIf.onbranch:never.path', '../two.inc');
    stage.git('config', 'core.hooksPath', 'hooks-to-come');
    stage.write('one.inc', '[include]\n\tpath = three.inc\n');
    stage.write('two.inc', '[IncludeIf "gitdir:/nowhere/"]\n\tpath = four.inc\n');
    const lines = ['one', 'two', 'three', 'four'].map(
      (name) => `echo '[x]' >>${name}.inc && echo ${name} >>"$FAKE_CALL/written"`,
    );
    stage.plans(
      1,
      [...lines, 'mkdir hooks-to-come', 'echo x >hooks-to-come/pre-commit', 'echo x >made', DONE].join('\n'),
    );
    const { stderr } = await stage.run(...COMMIT);
    expect(stage.given(1, 'written')).toBe('three\nfour\n');
    for (const name of ['three.inc', 'four.inc', 'hooks-to-come'])
      expect(stderr).toContain(`warning: the agent has made ${stage.path(name)}, which programs`);
    expect(readdirSync(stage.workspace)).not.toContain('hooks-to-come');
    expect(stage.git('show', '--name-only', '--format=', 'HEAD')).toBe('made\n');
  });

  it('is left alone where only the user can make it', async () => {
    const { stage, inHome } = openCage();
    inHome('.gitconfig', '[include]\n\tpath = ~/mine.inc\n');
    stage.env['GIT_CONFIG_GLOBAL'] = inHome('.gitconfig', '[include]\n\tpath = ~/mine.inc\n');
    commits(stage);
    stage.plans(1, `${waitFor()}; ${DONE}`);
    const run = stage.starts(...COMMIT);
    await stage.waitForCall(1);
    const mine = inHome('mine.inc', '[x]\n');
    stage.release();
    expect(await run.ended).toMatchObject({ code: 0 });
    expect(contents([mine])).toEqual(['[x]\n']);
  });

  it('is looked at before a child starts', { timeout: 120_000 }, async () => {
    const { stage } = openCage();
    commits(stage);
    const ralph = `${process.execPath} ${stage.main}`;
    stage.plans(
      1,
      `echo '{}' >.mcp.json; ${ralph} run --name child -m 1 "x" >"$FAKE_CALL/child" 2>&1; ls -a >"$FAKE_CALL/seen"; ${DONE}`,
    );
    stage.plans(2, DONE);
    await stage.run(...COMMIT);
    expect(stage.given(1, 'child')).toContain('started child');
    expect(stage.given(1, 'seen')).not.toContain('.mcp.json');
  });
});

it('a filter that puts a link beside the scratch index does not make Ralph write through it', async () => {
  const { stage, inHome } = openCage();
  const victim = inHome('.bashrc', 'as it was\n');
  const plant = `for i in "$GIT_INDEX_FILE"; do ln -sf ${victim} "$i-paths"; done; cat`;
  stage.git('config', 'filter.x.clean', 'sh clean.sh');
  stage.write('clean.sh', 'cat');
  stage.write('.gitattributes', '*.txt filter=x\n');
  stage.write('a.txt', '1');
  stage.git('add', '.');
  stage.git('commit', '-qm', 'filtered');
  stage.settings({ checkpointMaxFile: 1000, scm: { command: 'git', tasks: ['commit'] } });
  // A file that is too large is left out by a list, which is written after the first look.
  const work = `echo '${plant}' >clean.sh; head -c 2000 /dev/zero >large; echo $RALPH_ITERATION >a.txt; echo x >"new-$RALPH_ITERATION"`;
  stage.plans('default', work);
  await stage.run('-p', 'a task', '-m', '2');
  expect(stage.git('log', '--format=%s')).toContain('filtered');
  expect(contents([victim])).toEqual(['as it was\n']);
});

it('a workspace that is a folder of a repository: neither git nor a hook writes beside it', async () => {
  const cage = openCage();
  const { stage } = cage;
  stage.write('sub/file', 'x');
  stage.git('add', 'sub');
  stage.git('commit', '-qm', 'sub');
  hook(cage, '.git/hooks/pre-commit', 'echo x >beside; echo x >sub/within; true');
  stage.plans(1, `echo x >made; ${DONE}`);
  const settings = JSON.stringify({ scm: { command: 'git', tasks: ['commit'] } });
  stage.write('sub/.ralph/settings.json', settings);
  const args = ['--cwd', stage.path('sub'), '--name', 'it', ...COMMIT, '--', stage.agent];
  expect(await stage.ralph('run', ...args).ended).toMatchObject({ code: 0 });
  expect(stage.git('show', '--name-only', '--format=', 'HEAD')).toBe('sub/made\n');
  expect(readdirSync(stage.workspace)).not.toContain('beside');
  expect(stage.read('sub/within')).toBe('x\n');
});

it('a merge runs its hooks and filters in the sandbox', async () => {
  const cage = openCage();
  const { stage, canary } = cage;
  hook(cage, '.git/hooks/post-merge', 'sh lint.sh');
  hook(cage, '.git/hooks/pre-merge-commit', 'sh lint.sh');
  hook(cage, '.git/hooks/post-checkout', 'sh lint.sh');
  stage.plans(1, `echo 'touch ${canary} 2>/dev/null; echo ran >>'"$FAKE_PLAN/merged" >lint.sh; ${DONE}`);
  await stage.run(...COMMIT, '--worktree');
  mkdirSync(stage.path('own'));
  stage.write('own/file', 'x');
  stage.git('add', 'own');
  stage.git('commit', '-qm', 'own');
  expect(await stage.ralph('worktree', 'merge', 'it').ended).toMatchObject({ code: 0, stderr: '' });
  expect(stage.read('lint.sh')).toContain('touch');
  expect(stage.hasPlanFile('merged')).toBe(true);
  expect(cage.hasSung()).toBe(false);
});

it('a loop that signs its commits with a key that the sandbox hides is refused, with the ways out', async () => {
  const { stage, inHome } = openCage();
  stage.git('config', 'commit.gpgSign', 'true');
  inHome('.gnupg/key', 'private');
  for (const more of [[], ['--worktree']]) {
    // oxlint-disable-next-line no-await-in-loop -- one stage
    const { code, stderr } = await stage.run(...COMMIT, ...more);
    expect(code).toBe(2);
    expect(stderr).toContain('"scm": { "command": "git -c commit.gpgSign=false" }');
    expect(stderr).toContain('.gnupg to sandbox.write');
  }
  expect(stage.loops).toEqual([]);
  stage.settings({ scm: { command: 'git -c commit.gpgSign=false', tasks: ['commit'] } });
  stage.plans(1, `echo x >made; ${DONE}`);
  expect((await stage.run(...COMMIT)).code).toBe(0);
  expect(stage.git('log', '-1', '--format=%s')).toBe('Work\n');
});

it('a loop is not resumed where commits have been signed since with a key that its sandbox hides', async () => {
  const { stage, inHome } = openCage();
  stage.plans(1, 'true');
  expect((await stage.run(...COMMIT)).code).toBe(1);
  stage.git('config', 'commit.gpgSign', 'true');
  inHome('.gnupg/key', 'private');
  stage.plans(2, `echo x >made; ${DONE}`);
  const resume = ['resume', 'it', '-m', '2'];
  const { code, stderr } = await stage.ralph(...resume).ended;
  expect({ code, stderr }).toMatchObject({ code: 2 });
  expect(stderr).toContain('(git config commit.gpgSign false)');
  stage.git('config', 'commit.gpgSign', 'false');
  expect(await stage.ralph(...resume).ended).toMatchObject({ code: 0 });
  expect(stage.git('log', '-1', '--format=%s')).toBe('Work\n');
});

it("the agent's own folder: a login is renewed, and what the CLI executes or obeys is not", async () => {
  const { stage, inHome } = openCage();
  const claude = stage.installs('claude');
  for (const [name, text] of Object.entries({
    '.credentials.json': 'old',
    'statusline.sh': 'old',
    'my-line': 'old',
    'local/claude': 'old',
    'scripts/x.sh': 'old',
  }))
    inHome(`.claude/${name}`, text);
  chmodSync(inHome('.claude/my-line', 'old'), 0o755);
  const names = ['statusline.sh', 'my-line', 'local/claude', 'scripts/x.sh'];
  const writes = names.map(
    (name) =>
      `echo new >"$HOME/.claude/${name}"; rm -f "$HOME/.claude/${name}"; mv "$HOME/.claude/scripts" "$HOME/.claude/s"`,
  );
  const renews =
    'echo new >"$HOME/.claude/c.tmp" && mv "$HOME/.claude/c.tmp" "$HOME/.claude/.credentials.json"';
  stage.plans(
    1,
    [...writes, renews, 'mkdir "$HOME/.claude/bin" && echo x >"$HOME/.claude/bin/claude"', 'true'].join('\n'),
  );
  commits(stage);
  const { stderr } = await stage.ralph('run', '--name', 'it', ...COMMIT, '--agent', 'claude').ended;
  expect(stage.calls).toBeGreaterThan(0);
  const home = dirname(inHome('.claude/x', ''));
  expect(contents(names.map((name) => join(home, name)))).toEqual(names.map(() => 'old'));
  expect(contents([join(home, '.credentials.json')])).toEqual(['new\n']);
  expect(stderr).toContain(`warning: the agent has made ${home}/bin, which programs`);
  expect(readdirSync(home)).not.toContain('bin');
  expect(claude).toContain('bin/claude');
});
