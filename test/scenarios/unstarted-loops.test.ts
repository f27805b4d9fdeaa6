/** A loop whose creator was killed after it had reserved the name and before the first event. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openStage, waitFor, type Stage } from './stage.ts';

const SECRET = 'my-very-secret-value';
const task = ['-p', 'x', '-m', '1'];

/** Starts a loop called `dead` and kills Ralph while git carries out the first command that has this word. */
async function killedAt(word: string, stage: Stage, ...args: readonly string[]): Promise<void> {
  const git = stage.installs('git');
  const real = stage.shell(`PATH="${process.env['PATH'] ?? ''}" command -v git`);
  const path = (await real.ended).stdout.trim();
  const waits = `"${path}" "$@"; : >"$FAKE_PLAN/recorded"; ${waitFor()}`;
  writeFileSync(
    git,
    `#!/bin/sh\ncase "$*" in *"${word}"*) [ -e "$FAKE_PLAN/recorded" ] || { ${waits}; exit; };; esac\nexec "${path}" "$@"\n`,
  );
  const dying = stage.ralph(
    'run',
    '--name',
    'dead',
    ...args,
    ...(args.includes('--') ? [] : ['--', stage.agent]),
  );
  await stage.waitForFile(join(stage.plan, 'recorded'));
  dying.signal('SIGKILL');
  await dying.ended;
  stage.release();
}

const kept = (stage: Stage): readonly string[] =>
  readdirSync(join(stage.env['XDG_STATE_HOME'] ?? '', 'ralph', 'kept'));

describe('a loop that was killed while it was created', () => {
  it('leaves no environment and no records behind once another loop is created', async () => {
    const stage = openStage();
    stage.env['DEPLOY_TOKEN'] = SECRET;
    // Git writes the records of a shared repository; Ralph writes those of others.
    stage.git('config', 'core.sharedRepository', 'group');
    const records = (): string => stage.git('for-each-ref', 'refs/ralph/dead*/*');
    await killedAt('update-ref', stage, ...task);
    expect(kept(stage)).toHaveLength(1);
    expect(records()).not.toBe('');
    await stage.run(...task);
    expect(kept(stage)).toEqual([]);
    expect(records()).toBe('');
  });

  it.each([
    ['while git makes its record', 'update-ref', []],
    ['while git makes its worktree', 'worktree add', ['--worktree']],
    ['while its branch is noted in the configuration', 'config --file', ['--worktree']],
  ])('%s is started by resume, as it was asked for', async (_, word, more) => {
    const stage = openStage();
    stage.env['DEPLOY_TOKEN'] = SECRET;
    stage.git('config', 'core.sharedRepository', 'group');
    stage.identifies();
    stage.plans('default', 'echo "$DEPLOY_TOKEN" >token');
    await killedAt(word, stage, '-p', 'fix the tests', '-m', '3', '--tag', 'night', ...more);
    delete stage.env['DEPLOY_TOKEN'];
    const status = await stage.ralph('status', 'dead').ended;
    expect(status.code).toBe(2);
    expect(status.stderr).toContain('start it with: ralph resume dead\n');
    const { code, stderr } = await stage.ralph('resume', 'dead', '-m', '2').ended;
    expect({ code, calls: stage.calls }).toEqual({ code: 1, calls: 2 });
    expect(stage.given(1, 'stdin')).toContain('fix the tests');
    expect(stage.given(1, 'env')).toContain(`DEPLOY_TOKEN=${SECRET}\n`);
    expect(stage.given(1, 'cwd').trim() === stage.workspace).toBe(more.length === 0);
    expect(stderr).toContain('iteration 2/2');
    const row: unknown = JSON.parse((await stage.ralph('status', 'dead', '--json').ended).stdout);
    expect(row).toMatchObject({ name: 'dead', tags: ['night'] });
    const files = stage.files('dead');
    expect(existsSync(files.path('asked.json'))).toBe(false);
    expect(readFileSync(files.path('spec.json'), 'utf8')).not.toContain(SECRET);
    expect(kept(stage)).toEqual([]);
  });

  it('is kept if resume fails, and started once the reason is gone', async () => {
    const stage = openStage();
    stage.identifies();
    await killedAt('worktree add', stage, ...task, '--worktree');
    stage.write('.git/config.lock', '');
    const { code, stderr } = await stage.ralph('resume', 'dead').ended;
    expect(code).toBe(2);
    expect((await stage.ralph('status', 'dead').ended).stderr).toContain(
      'start it with: ralph resume dead\n',
    );
    const [, remedy = ''] = /if no git works there, remove it with: (rm .*)/.exec(stderr) ?? [];
    expect((await stage.shell(remedy).ended).code).toBe(0);
    expect((await stage.ralph('resume', 'dead').ended).code).toBe(1);
    expect(stage.calls).toBe(1);
    expect(kept(stage)).toEqual([]);
  });

  it('keeps what was asked for without the secrets in the command of its agent', async () => {
    const stage = openStage();
    stage.env['DEPLOY_TOKEN'] = SECRET;
    stage.git('config', 'core.sharedRepository', 'group');
    await killedAt('update-ref', stage, ...task, '--', stage.agent, SECRET, 'end');
    const asked = readFileSync(stage.files('dead').path('asked.json'), 'utf8');
    expect(asked).toContain('<redacted>');
    expect(asked).not.toContain(SECRET);
    expect((await stage.ralph('resume', 'dead').ended).code).toBe(1);
    expect(stage.given(1, 'argv')).toContain(SECRET);
  });
});
