/**
 * What an agent in a sandbox leaves in repositories other than its workspace, and for loops other than its own.
 *
 * @module-tag bwrap
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { linksBelow } from '../../src/git/links.ts';
import { branchAt, COMMIT, commits, DONE, hook, openCage, withRemote, type Cage } from './cage-stage.ts';
import { waitFor } from './stage.ts';

/** Makes a repository in the home, and returns its folder. */
function repository({ stage, inHome }: Cage, name: string, ...options: readonly string[]): string {
  const folder = dirname(inHome(`${name}/file`, 'x'));
  execFileSync('git', ['init', '-q', ...options], { cwd: folder, env: stage.env });
  return folder;
}

/** Adds a writable folder of the home to the user's settings. */
function letWrite({ stage, inHome }: Cage, ...folders: readonly string[]): void {
  const write = [stage.plan, dirname(stage.agent), ...folders];
  inHome('.config/ralph/settings.json', JSON.stringify({ sandbox: { write } }));
}

describe('a repository in a folder of sandbox.write', () => {
  it('keeps its hooks and its configuration, as does one directly in such a folder', async () => {
    const cage = openCage();
    const { stage, canary } = cage;
    const own = repository(cage, 'own');
    const inner = repository(cage, 'all/inner');
    const bare = repository(cage, 'all/bare.git', '--bare');
    execFileSync('git', ['config', 'core.hooksPath', 'to-come'], { cwd: own, env: stage.env });
    letWrite(cage, own, dirname(inner));
    const gits = [join(own, '.git'), join(inner, '.git'), bare];
    const lines = gits.map(
      (git) =>
        `git config --file ${git}/config core.fsmonitor "touch ${canary}; false"; echo x >${git}/hooks/pre-commit; mv ${git}/hooks ${git}/h; echo x >${git}/config.worktree; ln -s /nowhere ${git}/LINK`,
    );
    stage.plans(
      1,
      [...lines, `mkdir ${own}/to-come`, `echo x >${own}/to-come/x; echo x >${own}/file`, DONE].join('\n'),
    );
    const { code, stderr } = await stage.run(...COMMIT);
    expect(code).toBe(0);
    for (const git of gits) {
      expect(existsSync(join(git, 'hooks/pre-commit'))).toBe(false);
      expect(stderr).toContain(`warning: the agent has made ${git}/config.worktree, which programs`);
      expect(linksBelow(git)).toEqual([]);
    }
    expect(stderr).toContain(`warning: the agent has made ${own}/to-come, which programs`);
    for (const cwd of [own, inner]) execFileSync('git', ['status'], { cwd, env: stage.env });
    expect(cage.hasSung()).toBe(false);
    expect(execFileSync('cat', [join(own, 'file')], { encoding: 'utf8' })).toBe('x\n');
  });

  it('is one in which the git of other loops has a view', { timeout: 120_000 }, async () => {
    const cage = openCage();
    const { stage, canary } = cage;
    const own = repository(cage, 'own');
    letWrite(cage, own);
    const git = (...args: readonly string[]): void => {
      execFileSync('git', args, { cwd: own, env: stage.env });
    };
    git('config', 'filter.x.clean', 'sh clean.sh');
    stage.plans(
      1,
      `echo 'touch ${canary} 2>/dev/null; cat' >${own}/clean.sh; echo '* filter=x' >${own}/.gitattributes; ${DONE}`,
    );
    await stage.run(...COMMIT);
    stage.plans(2, `echo y >file; ${DONE}`);
    const other = ['run', '--cwd', own, '--name', 'other', '--no-sandbox', ...COMMIT, '--', stage.agent];
    expect(await stage.ralph(...other).ended).toMatchObject({ code: 0 });
    expect(cage.hasSung()).toBe(false);
  });
});

describe('a loop without a sandbox', () => {
  it('pushes nowhere that a sandboxed agent beside it names', { timeout: 120_000 }, async () => {
    const cage = openCage();
    const { stage, canary } = cage;
    const remote = withRemote(cage);
    stage.git('config', 'include.path', '../more.inc');
    const receive = `printf '[remote "origin"]\\n\\treceivepack = touch ${canary}; git-receive-pack\\n'`;
    commits(stage);
    stage.plans(1, `${receive} >more.inc; echo ready >"$FAKE_CALL/ready"; ${waitFor()}; ${DONE}`);
    const beside = stage.starts(...COMMIT);
    await stage.waitForCall(1, 'ready');
    commits(stage, 'commit', 'push origin HEAD:master');
    stage.plans(2, `echo x >made; ${DONE}`);
    const other = ['run', '--name', 'other', '--no-sandbox', ...COMMIT, '--', stage.agent];
    const { stderr } = await stage.ralph(...other).ended;
    expect(stderr).toContain(`warning: the agent has made ${stage.path('more.inc')}, which programs`);
    expect(cage.hasSung()).toBe(false);
    expect(branchAt(cage, remote)).toBe(stage.git('rev-parse', 'HEAD'));
    stage.release();
    await beside.ended;
  });

  it('has what all sandboxes allow that can write its repository', { timeout: 120_000 }, async () => {
    const cage = openCage();
    const { stage, inHome } = cage;
    commits(stage);
    const [one, two] = ['one', 'two'].map((name) => dirname(inHome(`${name}/file`, 'x')));
    stage.plans('default', DONE);
    for (const [name, folder] of Object.entries({ one, two })) {
      letWrite(cage, String(folder));
      const args = ['run', '--name', name, ...COMMIT, '--', stage.agent];
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect(await stage.ralph(...args).ended).toMatchObject({ code: 0 });
    }
    const tries = [one, two].map((folder) => `touch ${folder}/made`).join('; ');
    hook(cage, '.git/hooks/pre-commit', `${tries}; touch sub/made; true`);
    stage.write('sub/file', 'x');
    commits(stage, 'commit');
    stage.plans(3, `echo x >made; ${DONE}`);
    const other = ['run', '--name', 'other', '--no-sandbox', ...COMMIT, '--', stage.agent];
    expect(await stage.ralph(...other).ended).toMatchObject({ code: 0 });
    expect([one, two].map((folder) => existsSync(join(String(folder), 'made')))).toEqual([false, false]);
    expect(existsSync(stage.path('sub/made'))).toBe(true);
  });
});

it(
  'what an agent leaves after its owner has left is undone by the next owner',
  { timeout: 120_000 },
  async () => {
    const { stage, inHome } = openCage();
    const victim = inHome('.bashrc', 'as it was\n');
    commits(stage);
    stage.plans(1, `${waitFor()}; ln -sf ${victim} .git/COMMIT_EDITMSG; ${DONE}`);
    expect(await stage.spawns('a task', '-m', '1').ended).toMatchObject({ code: 0 });
    await stage.waitForCall(1);
    expect(await stage.ralph('daemon', 'stop').ended).toMatchObject({ code: 0 });
    stage.release();
    await stage.ralph('resume', 'it').ended;
    await stage.ralph('wait', 'it').ended;
    expect(linksBelow(stage.path('.git'))).toEqual([]);
  },
);

it(
  "a loop that starts meanwhile does not take what an agent has planted for the user's",
  { timeout: 120_000 },
  async () => {
    const cage = openCage();
    const { stage, canary } = cage;
    commits(stage);
    const before = stage.read('.git/config');
    const plant = `git config core.fsmonitor "touch ${canary}; false"; echo ready >"$FAKE_CALL/ready"`;
    stage.plans(1, `${waitFor()}; ${plant}; ${waitFor('end')}; ${DONE}`);
    const run = stage.starts(...COMMIT);
    await stage.waitForCall(1);
    stage.git('config', 'remote.other.url', '/nowhere');
    stage.release();
    await stage.waitForCall(1, 'ready');
    stage.plans(2, `${waitFor('second')}; ${DONE}`);
    const two = stage.ralph('run', '--name', 'two', ...COMMIT, '--', stage.agent);
    await stage.waitForCall(2);
    stage.release('end');
    await run.ended;
    stage.release('second');
    await two.ended;
    expect(stage.read('.git/config')).toBe(before);
    expect(cage.hasSung()).toBe(false);
  },
);
