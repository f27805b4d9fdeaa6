/** The files that a verdict rests on: check scripts, tests and what the user protects, with the built command. */
import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CHEAT, CHECK, DONE, record, stageWith, story, warning } from './evidence-stage.ts';
import { openLoadedStage, openStage, waitFor } from './stage.ts';

describe('an agent that changes what verifies its work', () => {
  it('is named in the final report, the story, the status, the result and the next prompt', async () => {
    const stage = stageWith({ 'check.sh': CHECK, 'test/a.test.js': 'old\n', 'test/b.test.js': 'old\n' });
    stage.plans(1, `${CHEAT}; rm test/a.test.js`);
    stage.plans(2, DONE);
    const report = join(stage.plan, 'report.json');
    const args = ['--check', './check.sh', '--report', 'json', '--report-file', report];
    const { code, stderr } = await stage.run('-p', 'work', ...args);
    expect(code).toBe(0);
    const names = 'check.sh, test/a.test.js (deleted)';
    // The second iteration found the same, which needs no second line.
    expect(stderr.split(warning(names))).toHaveLength(2);
    expect(stderr).toContain(
      `  evidence    files that verify the work were changed since the start: ${names}\n`,
    );
    expect(await story(stage)).toContain(warning(names));
    const prompt = stage.given(2, 'stdin');
    expect(prompt).toContain('## Files that verify the work\n');
    expect(prompt).toContain('\n- check.sh: changed, used by a check\n- test/a.test.js: deleted, a test\n');
    const [, show = ''] = /`git show (\S+):\.\/FILE`/.exec(prompt) ?? [];
    expect(stage.git('show', `${show}:./check.sh`)).toBe(CHECK);
    const changed = [
      { path: 'check.sh', how: 'changed', as: 'check' },
      { path: 'test/a.test.js', how: 'deleted', as: 'test' },
    ];
    expect((await record(stage)).evidence).toMatchObject({ watched: true, changed, more: 0 });
    expect((await stage.ralph('status', 'it').ended).stdout).toContain(
      `Evidence: files that verify the work`,
    );
    expect(JSON.parse(readFileSync(report, 'utf8'))).toMatchObject({ evidence: { watched: true, changed } });
  });

  it('is not reported for new tests, for its own work, for a touched file, or for what it has undone', async () => {
    const stage = stageWith({ 'check.sh': CHECK, 'test/a.test.js': 'old\n', 'src/main.js': 'old\n' });
    stage.plans(1, `${CHEAT}; echo new > test/new.test.js; echo new > src/main.js; touch test/a.test.js`);
    stage.plans(2, `git checkout --quiet check.sh; : > done.txt; ${DONE}`);
    const { stderr } = await stage.run('-p', 'work', '--check', './check.sh');
    expect(stderr.split('was changed since the start')).toHaveLength(2);
    expect(stderr).not.toContain('  evidence ');
    expect(stage.given(2, 'stdin')).not.toContain('test/');
    expect((await record(stage)).evidence).toMatchObject({ watched: true, changed: [] });
  });

  it('is reported for a script of package.json that a check runs, and for nothing else in that file', async () => {
    const pack = (test: string, more: object): string =>
      `${JSON.stringify({ scripts: { test, build: 'false' }, ...more }, null, 2)}\n`;
    const stage = stageWith({ 'package.json': pack('node run.js', {}), 'run.js': 'process.exit(1);\n' });
    writeFileSync(join(stage.plan, '1.json'), pack('node run.js', { dependencies: { a: '1' } }));
    writeFileSync(join(stage.plan, '2.json'), pack('true', { dependencies: { a: '1' } }));
    stage.plans(1, 'cp "$FAKE_PLAN/1.json" package.json');
    stage.plans(2, `cp "$FAKE_PLAN/2.json" package.json; ${DONE}`);
    const { code, stderr } = await stage.run('-p', 'work', '--check', 'npm test --silent');
    expect(code).toBe(0);
    expect(stage.given(2, 'stdin')).not.toContain('## Files that verify the work');
    expect(stderr).toContain(warning('package.json (scripts.test)'));
  });

  it('is reported for the code that a script of a check loads, and not for what a test or that code loads', async () => {
    const stage = stageWith({
      'tools/check.sh': '#!/bin/sh\nset -e\n. "$(dirname "$0")/lib.sh"\nverify\n',
      'tools/lib.sh': 'verify() { node tools/verify.js; }\n. ./tools/deep.sh\n',
      'tools/deep.sh': ':\n',
      'tools/verify.js': 'process.exit(1);\n',
      'test/a.test.js': "require('../src/main.js');\n",
      'src/main.js': 'old\n',
    });
    stage.plans(1, `for f in tools/*.sh tools/*.js src/main.js; do echo '' >> $f; done`);
    stage.plans(2, `echo 'verify() { :; }' > tools/lib.sh; ${DONE}`);
    const { code, stderr } = await stage.run('-p', 'work', '--check', 'tools/check.sh');
    expect(code).toBe(0);
    expect(stderr).toContain(warning('tools/check.sh, tools/lib.sh'));
    expect(stage.given(2, 'stdin')).toContain('\n- tools/lib.sh: changed, used by a check\n');
  });

  it('is found out whatever it tells git, and names cannot play with a terminal', async () => {
    const evil = 'test/\u001B[31mred\u202Etxt.js';
    const stage = stageWith({ 'check.sh': CHECK, [evil]: 'old\n', '.gitattributes': '' });
    stage.plans(
      1,
      [
        'git update-index --assume-unchanged check.sh',
        `git config filter.lie.clean 'git show HEAD:check.sh'`,
        `echo 'check.sh filter=lie' > .gitattributes`,
        'git config core.fileMode false',
        CHEAT,
        `printf new > '${evil}'`,
        `for ref in $(git for-each-ref --format='%(refname)' refs/ralph); do git update-ref -d $ref; done`,
        DONE,
      ].join('\n'),
    );
    const { code, stderr } = await stage.run('-p', 'work', '--check', './check.sh');
    expect(code).toBe(0);
    expect(stderr).toContain(warning('check.sh, test/\uFFFD[31mred\uFFFDtxt.js'));
    expect(stderr).not.toContain('\u202E');
  });

  it('is bounded: eight names and a number', async () => {
    const files: Record<string, string> = { 'check.sh': CHECK };
    for (let index = 10; index < 30; index++) files[`test/${index}.js`] = 'old\n';
    const stage = stageWith(files);
    stage.plans(1, `rm -r test; ${CHEAT}; ${DONE}`);
    const { stderr } = await stage.run('-p', 'work', '--check', './check.sh');
    expect(stderr).toMatch(/: check\.sh, test\/10\.js \(deleted\), .*test\/16\.js \(deleted\) and 13 more\n/);
  });

  it('is watched in a worktree, also if the tests there came with a set-up', async () => {
    const stage = stageWith({ 'check.sh': CHECK });
    stage.git('config', 'user.name', 't');
    stage.git('config', 'user.email', 't@t');
    stage.settings({ setup: ['mkdir test && echo made > test/made.js'] });
    stage.plans(1, `${CHEAT}; echo changed > test/made.js; ${DONE}`);
    const { code, stderr } = await stage.run('-p', 'work', '--check', './check.sh', '--worktree');
    expect(code).toBe(0);
    expect(stderr).toContain(warning('check.sh, test/made.js'));
    expect(stage.read('check.sh')).toBe(CHECK);
  });

  it('is watched in a subfolder of a repository, with scripts above it, and over a crash of Ralph', async () => {
    const stage = stageWith(
      { 'check.sh': CHECK, 'part/test/a.js': 'old\n', 'test/other.js': 'old\n' },
      openStage,
    );
    stage.plans(1, `${waitFor()}; echo > ../check.sh; echo > test/a.js; echo > ../test/other.js`);
    const args = ['-p', 'work', '-m', '1', '--check', 'sh ../check.sh', '--cwd', 'part'];
    const ralph = stage.starts(...args);
    await stage.waitForCall(1);
    ralph.signal('SIGKILL');
    await ralph.ended;
    const resumed = stage.ralph('resume', 'it', '--cwd', 'part');
    await resumed.until('reattached');
    stage.release();
    expect((await resumed.ended).stderr).toContain(warning('../check.sh, test/a.js'));
  });

  it('is not watched outside of git, and Ralph says so', async () => {
    const stage = stageWith({ 'check.sh': CHECK });
    rmSync(stage.path('.git'), { recursive: true });
    stage.plans(1, `${CHEAT}; ${DONE}`);
    const { code, stderr } = await stage.run('-p', 'work', '--check', './check.sh');
    expect(code).toBe(0);
    expect(stderr).toContain('changes of tests and of files that checks run are not noticed');
    expect((await record(stage)).evidence).toMatchObject({ watched: false, changed: [] });
    const refused = await stage.run('-p', 'work', '--check', './check.sh', '--protect', 'check.sh');
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('cannot protect check.sh');
    expect(stage.calls).toBe(1);
  });
});

describe('--protect', () => {
  it('with reject refuses the claim, and the agent reads why', async () => {
    const stage = stageWith({ 'check.sh': CHECK, 'lib/keep.js': 'old\n', 'lib/free.js': 'old\n' });
    stage.plans(1, `${CHEAT}; echo new > lib/keep.js; echo new > lib/free.js; ${DONE}`);
    stage.plans(2, `git checkout --quiet check.sh lib/keep.js; : > done.txt; ${DONE}`);
    const args = ['--on-protected-change', 'reject', '--protect', 'check.sh', '--protect', 'lib/k*'];
    const { code, stderr } = await stage.run('-p', 'work', '--check', './check.sh', ...args);
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 2 });
    const rejection =
      'claim rejected: the agent says it is done, but protected files are not as they were at the start: check.sh, lib/keep.js\n';
    expect(stderr).toContain(rejection);
    expect(stderr).toContain('  rejected    1 claim to be done, because of changed protected files\n');
    expect(await story(stage)).toContain(rejection);
    expect(stage.given(2, 'stdin')).toContain(
      '- check.sh: changed, protected\n- lib/keep.js: changed, protected\n',
    );
    expect(stage.given(2, 'stdin')).toContain('no claim to be done is accepted until they are as they were');
    expect((await record(stage)).evidence).toMatchObject({ changed: [] });
  });

  it('with reject does not report at the limit that the agent has not claimed', async () => {
    const stage = stageWith({ 'check.sh': CHECK });
    stage.plans(1, `${CHEAT}; ${DONE}`);
    const args = ['--on-protected-change', 'reject', '--protect', 'check.sh', '-m', '1'];
    const { code, stderr } = await stage.run('-p', 'work', '--check', './check.sh', ...args);
    expect(code).toBe(1);
    expect(stderr).toContain('  rejected    1 claim to be done, because of changed protected files\n');
    expect(stderr).not.toContain('did not claim');
  });

  it('with restore puts files back before the checks: content, mode, deleted files and whole folders', async () => {
    const stage = stageWith({
      'check.sh': CHECK,
      'test/deep/a.js': 'a\n',
      'test/b.sh': 'b\n',
      'test/c.js': 'c\n',
    });
    stage.plans(1, `${CHEAT}; chmod -x test/b.sh; rm -r test/deep; rm test/c.js; mkdir test/c.js; ${DONE}`);
    stage.plans(2, `: > done.txt; ${DONE}`);
    const args = ['--on-protected-change', 'restore', '--protect', 'test', '--protect', 'check.sh'];
    const { code, stderr } = await stage.run('-p', 'work', '--check', './check.sh', ...args);
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 2 });
    // The cheat did not help: the check that ran is the one of the start.
    expect(stderr).toContain('check failed: ./check.sh');
    const names = 'check.sh, test/b.sh, test/c.js, test/deep/a.js';
    expect(stderr).toContain(`put back before the checks: ${names}\n`);
    expect(stderr).toContain(`  restored    changed since the start and put back: ${names}\n`);
    expect(stage.given(2, 'stdin')).toContain(
      'Ralph put these protected files back. Do not change them:\n- check.sh\n',
    );
    expect(stage.git('status', '--porcelain', '--', 'test', 'check.sh')).toBe('');
    expect(statSync(stage.path('test/b.sh')).mode & 0o111).not.toBe(0);
    expect((await record(stage)).evidence).toMatchObject({ changed: [], restored: names.split(', ') });
  });

  it('with restore writes nothing through a symbolic link in the way, and takes nothing from a ref', async () => {
    const stage = stageWith({ 'check.sh': CHECK, 'test/a.js': 'old\n' });
    const outside = join(stage.plan, 'outside');
    mkdirSync(outside);
    writeFileSync(join(outside, 'a.js'), 'mine\n');
    writeFileSync(join(outside, 'check.sh'), 'mine\n');
    stage.plans(
      1,
      [
        `rm -r test check.sh; ln -s "$FAKE_PLAN/outside" test; ln -s "$FAKE_PLAN/outside/check.sh" check.sh`,
        // The agent's own record of a start.
        `tree=$(git mktree < /dev/null)`,
        `for ref in $(git for-each-ref --format='%(refname)' refs/ralph); do git update-ref $ref $(git -c user.name=x -c user.email=x commit-tree -m x $tree); done`,
        DONE,
      ].join('\n'),
    );
    stage.plans(2, `: > done.txt; ${DONE}`);
    const args = ['--on-protected-change', 'restore', '--protect', 'test/**', '--protect', 'check.sh'];
    const { code, stderr } = await stage.run('-p', 'work', '--check', './check.sh', ...args);
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 2 });
    expect(stderr).toContain('put back before the checks: check.sh, test/a.js\n');
    expect(stage.read('check.sh')).toBe(CHECK);
    expect(stage.read('test/a.js')).toBe('old\n');
    expect(lstatSync(stage.path('test')).isSymbolicLink()).toBe(false);
    expect(readdirSync(outside).toSorted()).toEqual(['a.js', 'check.sh']);
    expect(readFileSync(join(outside, 'check.sh'), 'utf8')).toBe('mine\n');
    expect(readFileSync(join(outside, 'a.js'), 'utf8')).toBe('mine\n');
  });

  it('with restore rejects the claim if a file cannot be put back', async () => {
    const stage = stageWith({ 'check.sh': CHECK });
    stage.plans('default', `rm -rf check.sh; mkdir -p check.sh; : > check.sh/in-the-way; ${DONE}`);
    const args = ['--check', 'true', '--on-protected-change', 'restore', '--protect', 'check.sh'];
    const { code, stderr } = await stage.run('-p', 'work', '-m', '1', ...args);
    expect(code).toBe(1);
    expect(stderr).toContain(
      'warning: cannot put back check.sh: check.sh is now a folder with files in it\n',
    );
    expect(stderr).toContain('a protected file is not as it was at the start: check.sh\n');
    expect(stage.path('check.sh/in-the-way')).toSatisfy((path: string) => statSync(path).isFile());
  });

  it('with restore puts back a file that git converts, byte for byte', async () => {
    const stage = stageWith({ 'check.sh': CHECK });
    stage.git('config', 'filter.up.clean', 'tr a-z A-Z');
    stage.write('.gitattributes', '*.dat filter=up\n');
    stage.write('test/x.dat', 'Mixed\n');
    stage.plans(1, `echo other > test/x.dat`);
    stage.plans(2, `: > done.txt; ${DONE}`);
    const args = ['--check', './check.sh', '--on-protected-change', 'restore', '--protect', 'test'];
    const { stderr } = await stage.run('-p', 'work', ...args);
    expect(stderr.split(warning('test/x.dat'))).toHaveLength(2);
    expect(stage.read('test/x.dat')).toBe('Mixed\n');
  });

  it('warns of a glob that matches nothing, and refuses one that is none', async () => {
    const stage = stageWith({ 'check.sh': CHECK });
    stage.plans(1, DONE);
    const { stderr } = await stage.run('-p', 'work', '--protect', 'tset/**');
    expect(stderr).toContain('warning: protect: no file matches "tset/**" now');
    const refuse = async (...args: readonly string[]): Promise<string> => {
      const refused = await stage.run('-p', 'work', ...args);
      expect(refused.code).toBe(2);
      return refused.stderr;
    };
    expect(await refuse('--protect', '../x')).toContain('--protect must be a glob relative to the workspace');
    expect(await refuse('--on-protected-change', 'restore')).toContain('at least one glob');
    expect(await refuse('--protect', 'a', '--on-protected-change', 'revert')).toContain(
      '--on-protected-change must be one of warn, reject, restore, got "revert"',
    );
  });
});

describe('a limit that was changed while the loop ran', () => {
  it('stands in the final report, the status and the story, with its old value and where it came from', async () => {
    const stage = openLoadedStage();
    stage.plans(1, waitFor());
    const ralph = stage.starts('-p', 'work', '-m', '5');
    await stage.waitForCall(1);
    expect((await stage.ralph('set', 'it', 'max-iterations=2', 'max-time=1h').ended).code).toBe(0);
    stage.release();
    const { stderr } = await ralph.ended;
    const text = 'at most 2 iterations, before: at most 5 iterations (ralph set, in iteration 1)';
    expect(stderr).toContain(`  limit       ${text}\n`);
    expect(stderr).toContain(
      '  limit       at most 1h 0m of active time, before: no time limit (ralph set, in iteration 1)\n',
    );
    expect(await story(stage)).toContain(`limits changed: ${text}`);
    expect((await stage.ralph('status', 'it').ended).stdout).toContain(`Limit changed: ${text}\n`);
    const [change] = (await record(stage)).limitChanges;
    expect(change).toEqual({ limit: 'iterations', from: 5, to: 2, by: 'ralph set', iteration: 1 });
  });

  const edit = `sed -i 's/"max_iterations": 2/"max_iterations": 4/' .ralph/loops/it/state.json`;

  it('is not one that was written into state.json', async () => {
    const stage = openLoadedStage();
    stage.plans(1, edit);
    const { stderr } = await stage.run('-p', 'work', '-m', '2');
    expect({ calls: stage.calls, limit: stage.state['max_iterations'] }).toEqual({ calls: 2, limit: 2 });
    expect(stderr).not.toContain('  limit ');
    expect((await record(stage)).limitChanges).toEqual([]);
  });

  it('is one that was written into state.json with the preset swarm, and is reported', async () => {
    const stage = openLoadedStage();
    stage.plans(1, edit);
    const { stderr } = await stage.run('-p', 'work', '-m', '2', '--preset', 'swarm');
    expect(stage.calls).toBe(4);
    const text = 'at most 4 iterations, before: at most 2 iterations (state.json, in iteration 1)';
    expect(stderr).toContain(`limits changed: ${text}\n`);
    expect(stderr).toContain(`  limit       ${text}\n`);
    expect(await story(stage)).toContain(`limits changed: ${text}`);
  });
});
