import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { done, hook, openRepository, ralphCli, remoteOf, status, subjects } from './repository.ts';
import { openLoadedStage, openStage, waitFor, type OpenStage, type Stage } from './stage.ts';

const QUESTION =
  'Provide a short imperative commit message for the changes. Output only the message, no explanation.';

describe('the SCM tasks', () => {
  it('S2.1 S2.64 S2.65 S2.67 S2.68 S2.101 commit and push verified work before the loop ends (T067 T070)', async () => {
    const stage = openRepository({ command: 'git', tasks: ['commit', 'push'] });
    const remote = remoteOf(stage);
    stage.plans(1, `echo 1 >work; ${done}`);
    stage.plans(2, "printf '\\n\\nFix parser\\nbecause it was broken\\n'");
    const { code, stderr } = await stage.run(...ralphCli, '--check', 'test -e work');
    expect(code).toBe(0);
    expect(stage.given(2, 'argv')).toBe(`${QUESTION}\n`);
    expect(stage.modifiedAt(2, 'end')).toBeGreaterThan(stage.modifiedAt(1, 'end'));
    expect(stage.calls).toBe(2);
    expect(subjects(stage)).toEqual(['Fix parser', 'begin']);
    expect(stage.git('log', '-1', '--format=%an')).toBe('Some Body\n');
    const head = stage.git('rev-parse', 'HEAD').trim();
    expect(stage.git('--git-dir', remote, 'log', '--all', '-1', '--format=%H').trim()).toBe(head);
    expect(stderr).toContain(`committed ${head.slice(0, 7)}: Fix parser (1 file) on branch master\n`);
    expect(stderr).toContain(`commits     1 (last ${head.slice(0, 7)})`);
    expect(stage.state).toMatchObject({ end: { commits: 1, lastCommit: head, commitError: null } });
    expect(readFileSync(stage.file('runs/0001/scm/push.log'), 'utf8')).toContain(remote);
    expect(status(stage)).toEqual([]);
  });

  it('name the branch, and say if it is not the one that the loop started on', async () => {
    const stage = openRepository({ command: 'git', tasks: ['commit'] });
    stage.plans(1, 'echo 1 >work');
    stage.plans(2, 'echo First');
    stage.plans(3, 'git checkout -q -b fix/other; echo 2 >work');
    stage.plans(4, 'echo Second');
    const { stderr } = await stage.run('-p', 'work', '-m', '2', '--check', 'test -e work');
    const last = stage.git('rev-parse', '--short=7', 'HEAD').trim();
    const elsewhere = 'on branch fix/other; the loop started on branch master';
    expect(stderr).toMatch(/: committed [0-9a-f]{7}: First \(1 file\) on branch master\n/);
    expect(stderr).toContain(`: committed ${last}: Second (1 file) ${elsewhere}\n`);
    const commits = `2 (last ${last}) on branches master and fix/other; the loop started on branch master\n`;
    expect(stderr).toContain(`  commits     ${commits}`);
    expect((await stage.ralph('status', 'it').ended).stdout).toContain(`Commits: ${commits}`);
    const story = (await stage.ralph('story', 'it').ended).stdout.replaceAll(/\s+/g, ' ');
    expect(story).toMatch(/committed [0-9a-f]{7}: First \(1 file\) on branch master /);
    expect(story).toContain(`committed ${last}: Second (1 file) ${elsewhere} `);
    expect(stage.state).toMatchObject({
      end: { startBranch: 'master', branches: ['master', 'fix/other'] },
    });
  });

  it('S2.64 S2.101 do not run while a guardrail fails, or if none are configured', async () => {
    const stage = openRepository({ command: 'git', tasks: ['commit'] });
    stage.plans(1, 'echo 1 >work');
    stage.plans(2, 'echo 2 >work');
    stage.plans(3, 'echo Second try');
    const { code } = await stage.run(...ralphCli, '--check', 'grep -q 2 work');
    expect({ code, calls: stage.calls }).toEqual({ code: 1, calls: 3 });
    expect(subjects(stage)).toEqual(['Second try', 'begin']);
    stage.write('.ralph/settings.json', JSON.stringify({ scm: { command: 'git', tasks: [] } }));
    stage.plans(4, `echo 3 >work; ${done}`);
    expect((await stage.run(...ralphCli)).code).toBe(0);
    expect({ calls: stage.calls, status: status(stage) }).toEqual({ calls: 4, status: [' M work'] });
  });

  it.each([
    ['the first non-blank line', "printf '\\n\\n  Fix parser\\nbecause…\\n'", 'Fix parser'],
    [
      'the content of a multi-line tag',
      "printf 'Sure:\\n<Response>\\nFix parser\\n</Response>\\n'",
      'Fix parser',
    ],
    [
      'text with shell syntax',
      `printf '%s\\n' '$(touch owned) "a" \\\`b\\\` ; --amend'`,
      '$(touch owned) "a" \\`b\\` ; --amend',
    ],
    ['text that looks like options', "echo '--amend --no-verify'", '--amend --no-verify'],
  ])('S2.66 use %s as the commit message', async (_, answer, message) => {
    const stage = openRepository();
    stage.plans(1, `echo 1 >work; ${done}`);
    stage.plans(2, answer);
    expect((await stage.run(...ralphCli)).code).toBe(0);
    expect(subjects(stage)).toEqual([message, 'begin']);
    expect(existsSync(stage.path('owned'))).toBe(false);
  });

  it('S2.66 have the first line alone in preset ralph-cli, and elsewhere the paragraphs after it too', async () => {
    const stage = openRepository();
    stage.plans('default', "printf 'Fix parser\\n\\nIt read one token too many.\\n'");
    for (const [run, preset, message] of [
      [1, 'ralph-cli', 'Fix parser\n'],
      [3, 'default', 'Fix parser\n\nIt read one token too many.\n'],
    ] as const) {
      stage.plans(run, `echo ${run} >work; printf '<response>DONE</response>\\n'`);
      // oxlint-disable-next-line no-await-in-loop -- one repository for both
      expect((await stage.run(...ralphCli, '--preset', preset, '--fresh')).code).toBe(0);
      expect(stage.git('log', '-1', '--format=%B').trimEnd()).toBe(message.trimEnd());
    }
  });

  it.each([
    ['gives no answer', 'true'],
    ['fails', 'echo Fix parser; exit 1'],
    ['answers in JSON', 'echo \'{"type":"result","result":"x"}\''],
  ])(
    'S2.66 S2.101 S2.102 do not run when the agent %s, and the loop continues with the next iteration (T068)',
    async (_, answer) => {
      const stage = openRepository({ command: 'git', tasks: ['commit', 'push'] });
      stage.plans(1, 'echo 1 >work');
      stage.plans(2, answer);
      stage.plans(3, done);
      stage.plans(4, 'echo Fix parser');
      const { code, stderr } = await stage.run(...ralphCli);
      expect(code).toBe(0);
      expect(stderr).toContain('SCM error: agent did not provide a valid commit message');
      expect(subjects(stage)).toEqual(['Fix parser', 'begin']);
      expect(stage.calls).toBe(4);
      // The commit succeeds; the push fails because there is no remote.
      expect(stderr).toMatch(/SCM error: SCM task "push" failed: exit code \d+: .*push/);
      expect(stderr).toMatch(/SCM error {3}SCM task "push" failed/);
    },
  );

  it('S2.101 report that there is nothing to commit, ask and push nothing, and do not fail the loop (T070)', async () => {
    const stage = openRepository({ command: 'git', tasks: ['commit', 'push'] });
    stage.write('mine', 'not of the loop');
    stage.plans(1, done);
    const { code, stderr } = await stage.run(...ralphCli);
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 1 });
    expect(stderr).toContain('nothing to commit');
    expect(stderr).not.toContain('SCM error');
    expect(status(stage)).toEqual(['?? mine']);
  });

  it('S2.67 S2.68 pass their words unchanged to another program, one task after the other', async () => {
    const stage = openRepository({
      command: 'vcs --quiet "a b"',
      tasks: ['commit', "push 'the origin' HEAD"],
    });
    const bin = join(stage.plan, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'vcs'), '#!/bin/sh\nfor a in "$@"; do echo "<$a>"; done >>"$FAKE_PLAN/said"\n');
    chmodSync(join(bin, 'vcs'), 0o755);
    stage.env['PATH'] = `${bin}:${stage.env['PATH'] ?? ''}`;
    stage.plans(1, `echo 1 >work; ${done}`);
    stage.plans(2, "echo 'Fix $HOME'");
    const { code, stderr } = await stage.run(...ralphCli);
    expect(code).toBe(0);
    expect(readFileSync(join(stage.plan, 'said'), 'utf8').split('\n').slice(0, -1)).toEqual(
      ['--quiet', 'a b', 'commit', '-am', 'Fix $HOME', '--quiet', 'a b', 'push', 'the origin', 'HEAD'].map(
        (word) => `<${word}>`,
      ),
    );
    expect(stderr).toContain("SCM tasks done: commit, push 'the origin' HEAD");
  });
});

describe('a commit', () => {
  it('of all files is the checkpoint of its iteration', async () => {
    const stage = openLoadedStage();
    stage.identifies();
    stage.plans('default', 'echo "$RALPH_ITERATION" >log');
    await stage.run('-p', 'work', '--worktree', '--check', 'true', '-m', '2');
    const record = (name: string): string =>
      stage.git('for-each-ref', '--format=%(objectname)', `refs/ralph/*/${name}`);
    const commits = stage.git('rev-list', '--reverse', 'HEAD..ralph/it');
    expect(commits).toBe(`${record('1')}${record('2')}`);
    expect(commits.split('\n')).toHaveLength(3);
  });

  it('contains the changes of the loop and leaves those of the user alone', async () => {
    const stage = openRepository();
    stage.write('staged', '1');
    stage.git('add', 'staged');
    stage.write('README.md', 'changed by hand\n');
    stage.write('mine', '1');
    const before = status(stage);
    stage.plans(1, `echo 1 >work; mkdir -p deep && echo 1 >"deep/a b"; ${done}`);
    stage.plans(2, 'echo Work');
    expect((await stage.run(...ralphCli)).code).toBe(0);
    expect(stage.git('show', '--format=', '--name-only', 'HEAD')).toBe('deep/a b\nwork\n');
    expect(status(stage)).toEqual(before);
    expect(stage.git('for-each-ref', '--format=%(refname)', 'refs/ralph')).toMatch(
      /^refs\/ralph\/(it-[0-9a-f]{8})\/1\nrefs\/ralph\/\1\/start\n$/,
    );
    expect((await stage.ralph('rm', 'it').ended).code).toBe(0);
    expect(stage.git('for-each-ref', 'refs/ralph')).toBe('');
  });

  it('that a hook rejects is reported, loses nothing and is retried after the next iteration', async () => {
    const stage = openRepository({ command: 'git', tasks: ['commit', 'push'] });
    remoteOf(stage);
    hook(stage, 'pre-commit', '[ -e fixed ] || { echo "the linter is not happy"; exit 3; }');
    stage.plans(1, 'echo 1 >work');
    stage.plans(2, 'echo First');
    stage.plans(3, `: >fixed; git status --porcelain -- work fixed >"$FAKE_CALL/status"; ${done}`);
    stage.plans(4, 'echo Second');
    const { code, stderr } = await stage.run(...ralphCli);
    expect(code).toBe(0);
    expect(stderr).toContain('SCM error: SCM task "commit" failed: exit code 1: the linter is not happy');
    expect(stage.given(3, 'status')).toBe('?? fixed\n?? work\n');
    expect(subjects(stage)).toEqual(['Second', 'begin']);
    expect(stderr).not.toContain('  uncommitted ');
    expect(status(stage)).toEqual([]);
  });

  it('redacts secrets of the environment in its message', async () => {
    const stage = openRepository();
    stage.env['MY_API_KEY'] = 'geheim-geheim';
    stage.plans(1, `echo 1 >work; ${done}`);
    stage.plans(2, 'echo "Use $MY_API_KEY"');
    expect((await stage.run(...ralphCli)).code).toBe(0);
    expect(subjects(stage)).toEqual(['Use <redacted>', 'begin']);
  });

  it('on a detached HEAD fails with a remedy, and the loop continues', async () => {
    const stage = openRepository();
    stage.plans(1, 'echo 1 >work; git checkout --quiet --detach');
    stage.plans(2, `git switch --quiet -c other; ${done}`);
    stage.plans(3, 'echo Work');
    const { code, stderr } = await stage.run(...ralphCli);
    expect(code).toBe(0);
    expect(stderr).toContain(
      'SCM error: no branch is checked out (detached HEAD); create one with: git switch -c NAME',
    );
    expect(subjects(stage)).toEqual(['Work', 'begin']);
  });

  it('never opens an editor, a password prompt or a terminal', async () => {
    const stage = openRepository({ command: 'git', tasks: ['commit', 'commit --amend', 'push'] });
    stage.env['GIT_EDITOR'] = 'touch editor-was-here; false';
    stage.plans(1, `echo 1 >work; ${done}`);
    stage.plans(2, 'echo Work');
    hook(stage, 'pre-push', '{ read answer </dev/tty; } 2>/dev/null || echo "no terminal"; exit 1');
    const remote = remoteOf(stage);
    expect(remote).toContain('remote.git');
    const { code, stderr } = await stage.run(...ralphCli);
    expect(code).toBe(0);
    expect(existsSync(stage.path('editor-was-here'))).toBe(false);
    expect(stderr).toContain('SCM error');
  });
});

describe('a loop that could never commit', () => {
  it.each([
    ['a merge in progress', 'git merge --quiet other', 'git merge --abort'],
    ['a rebase in progress', 'git rebase --quiet other', 'git rebase --abort'],
    ['a cherry-pick in progress', 'git cherry-pick other', 'git cherry-pick --abort'],
    ['a detached HEAD', 'git checkout --quiet --detach', 'git switch -c NAME'],
    [
      'a missing git identity',
      'git config --unset user.name; git config user.useConfigOnly true',
      'git config user.name',
    ],
    ['a missing repository', 'rm -rf .git', 'git init'],
  ])('is rejected because of %s', async (_, command, remedy) => {
    const stage = openRepository();
    const prepare = `git checkout --quiet -b other; echo 1 >a; git add a; git commit --quiet -m other;
      git checkout --quiet -; echo 2 >a; git add a; git commit --quiet -m ours; ${command}; true`;
    await stage.shell(prepare).ended;
    const { code, stderr } = await stage.run(...ralphCli);
    expect({ code, calls: stage.calls, loops: stage.loops }).toEqual({ code: 2, calls: 0, loops: [] });
    expect(stderr).toContain(remedy);
  });

  it('is rejected because of a missing SCM program', async () => {
    const stage = openRepository({ command: 'no-such-vcs', tasks: ['commit'] });
    const { code, stderr } = await stage.run(...ralphCli);
    expect({ code, loops: stage.loops }).toEqual({ code: 2, loops: [] });
    expect(stderr).toContain('no-such-vcs');
  });
});

describe('an SCM task that hangs', () => {
  const openHanging = (timeout: string, open?: OpenStage): Stage => {
    const stage = openRepository({ command: 'git', tasks: ['commit', 'push'], timeout }, open);
    remoteOf(stage);
    hook(stage, 'pre-push', `: >"$FAKE_PLAN/pushing"; ${waitFor()}`);
    stage.plans(1, `echo 1 >work; ${done}`);
    stage.plans(2, 'echo Work');
    return stage;
  };

  it('is killed when it times out', async () => {
    const stage = openHanging('300ms');
    const { code, stderr } = await stage.run(...ralphCli);
    expect(code).toBe(0);
    expect(stderr).toContain('SCM task "push" failed: timed out after 0.3 s');
    expect(subjects(stage)).toEqual(['Work', 'begin']);
  });

  it('is killed by a second signal, and resume pushes the commit once', async () => {
    const stage = openHanging('10m', openStage);
    const ralph = stage.starts(...ralphCli);
    await stage.waitForFile(join(stage.plan, 'pushing'));
    ralph.signal('SIGINT');
    await ralph.until('Received signal');
    ralph.signal('SIGINT');
    expect((await ralph.ended).code).toBe(130);
    stage.release();
    const resumed = await stage.ralph('resume', 'it').ended;
    expect(resumed.code).toBe(0);
    expect(stage.calls).toBe(2);
    expect(subjects(stage)).toEqual(['Work', 'begin']);
    expect(stage.git('rev-parse', '@{push}')).toBe(stage.git('rev-parse', 'HEAD'));
    expect(stage.journal.filter(({ type }) => type === 'commit.made')).toMatchObject([
      { done: ['commit', 'push'], error: null },
    ]);
  });

  it('is killed after its owner was, and resume runs it again', async () => {
    const stage = openHanging('10m', openStage);
    const ralph = stage.starts(...ralphCli);
    await stage.waitForFile(join(stage.plan, 'pushing'));
    ralph.signal('SIGKILL');
    await ralph.ended;
    stage.release();
    expect((await stage.ralph('resume', 'it').ended).code).toBe(0);
    expect(subjects(stage)).toEqual(['Work', 'begin']);
    expect(stage.git('rev-parse', '@{push}')).toBe(stage.git('rev-parse', 'HEAD'));
  });
});

describe('an owner that dies', () => {
  it('after a commit but before its journal entry causes no second commit, and the next task follows', async () => {
    const stage = openRepository({ command: 'git', tasks: ['commit', 'push'] }, openStage);
    remoteOf(stage);
    // The commit exists, but git does not exit.
    hook(stage, 'post-commit', `echo x >>"$FAKE_PLAN/made"; ${waitFor()}`);
    stage.plans(1, `echo 1 >work; ${done}`);
    stage.plans(2, 'echo Work');
    const ralph = stage.starts(...ralphCli);
    await stage.waitForFile(join(stage.plan, 'made'));
    ralph.signal('SIGKILL');
    await ralph.ended;
    // The user changes the file in between.
    stage.write('work', 'mine');
    stage.release();
    expect((await stage.ralph('resume', 'it').ended).code).toBe(0);
    expect(readFileSync(join(stage.plan, 'made'), 'utf8')).toBe('x\n');
    expect(subjects(stage)).toEqual(['Work', 'begin']);
    expect(stage.git('rev-parse', '@{push}')).toBe(stage.git('rev-parse', 'HEAD'));
    expect(stage.calls).toBe(2);
  });

  it('during a commit hook leaves the hook to resume, which kills it and commits once', async () => {
    const stage = openRepository(undefined, openStage);
    hook(stage, 'pre-commit', `: >"$FAKE_PLAN/looking"; ${waitFor()}`);
    stage.plans(1, `echo 1 >work; ${done}`);
    stage.plans(2, 'echo Work');
    const ralph = stage.starts(...ralphCli);
    await stage.waitForFile(join(stage.plan, 'looking'));
    ralph.signal('SIGKILL');
    await ralph.ended;
    stage.release();
    expect((await stage.ralph('resume', 'it').ended).code).toBe(0);
    expect(subjects(stage)).toEqual(['Work', 'begin']);
    expect(status(stage)).toEqual([]);
  });

  it('during a commit hook leaves staged files, which rm unstages', async () => {
    const stage = openRepository(undefined, openStage);
    hook(stage, 'pre-commit', ': >hooked; exec sleep 60');
    stage.plans('default', `echo 1 >work; ${done}`);
    const ralph = stage.starts(...ralphCli);
    await stage.waitForFile(stage.path('hooked'));
    ralph.signal('SIGKILL');
    await ralph.ended;
    expect(status(stage)).toContain('A  work');
    expect((await stage.ralph('rm', 'it').ended).code).toBe(0);
    expect(status(stage)).toContain('?? work');
  });

  it('while the agent writes a commit message leaves the agent to resume, which reads its answer', async () => {
    const stage = openRepository(undefined, openStage);
    stage.plans(1, `echo 1 >work; ${done}`);
    stage.plans(2, `${waitFor()}; echo Work`);
    const ralph = stage.starts(...ralphCli);
    await stage.waitForCall(2);
    ralph.signal('SIGKILL');
    await ralph.ended;
    const resumed = stage.ralph('resume', 'it');
    await resumed.until('reattached');
    stage.release();
    expect((await resumed.ended).code).toBe(0);
    expect({ calls: stage.calls, subjects: subjects(stage) }).toEqual({
      calls: 2,
      subjects: ['Work', 'begin'],
    });
  });
});
