/** Loops are found from every folder below their workspace; a new loop belongs to the folder where it is started. */
import { mkdirSync, symlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openLoadedStage, type Stage } from './stage.ts';

const work = ['-p', 'work', '-m', '1'];

/** Starts a loop in a folder of the workspace and waits for its end. */
async function runIn(stage: Stage, folder: string, name: string): Promise<void> {
  const at = stage.path(folder);
  mkdirSync(at, { recursive: true });
  const { code } = await stage.ralph('run', '--cwd', at, '--name', name, ...work, '--', stage.agent).ended;
  expect(code).toBe(1);
}

describe('a loop', () => {
  it('is found from every folder below its workspace, by its name and in lists', async () => {
    const stage = openLoadedStage();
    stage.plans('default', 'echo said; echo x >made');
    await stage.run(...work);
    const deep = stage.path('packages/a/src');
    mkdirSync(deep, { recursive: true });
    const from = (...args: readonly string[]) => stage.ralph(...args, '--cwd', deep).ended;
    expect((await from('status', 'it')).stdout).toContain('Ralph Loop: it\n');
    expect((await from('status', 'it', '--json')).stdout).toContain(`"workspace": "${stage.workspace}"`);
    expect((await from('logs', 'it')).stdout).toBe('said\n');
    expect((await from('story', 'it')).stdout).toContain('iteration');
    expect((await from('wait', 'it')).stdout).toContain('it: iteration limit reached');
    expect((await from('bus', 'post', 'hello')).code).toBe(0);
    expect((await from('bus', 'read')).stdout).toContain('hello');
    for (const list of [['ls'], ['ls', '--json'], ['ls', '--format=names'], ['status'], ['status', '--json']])
      // oxlint-disable-next-line no-await-in-loop -- one command at a time runs inside the test
      expect((await from(...list)).stdout).toMatch(/\bit\b/);
    expect((await from('resume', 'it', '-m', '2')).code).toBe(1);
    expect(stage.calls).toBe(2);
    expect(stage.given(2, 'cwd')).toBe(`${stage.workspace}\n`);
    const shown = await stage.shell(`cd '${deep}' && $RALPH status it; $RALPH ls && $RALPH diff it --stat`)
      .ended;
    expect(shown.stdout).toMatch(/Iteration: 2\/2\n[^]*^it +iteration limit +2\/2[^]*made/m);
    // A link to the folder leads to the same loops.
    symlinkSync(deep, stage.path('../link'));
    const linked = await stage.shell(`cd '${dirname(stage.workspace)}/link' && $RALPH status it`).ended;
    expect(linked.stdout).toContain('Ralph Loop: it\n');
    expect((await from('rm', 'it')).stdout).toBe('removed it\n');
    expect((await from('ls')).stderr).toContain('no loops in this workspace');
  });

  it('of the nearest workspace comes first, and none above the nearest repository is found', async () => {
    const stage = openLoadedStage();
    await runIn(stage, '.', 'it');
    await runIn(stage, '.', 'outer');
    await runIn(stage, 'packages/a', 'it');
    const workspaceOf = async (name: string, folder: string): Promise<unknown> => {
      const { stdout } = await stage.ralph('status', name, '--json', '--cwd', stage.path(folder)).ended;
      const shown: unknown = JSON.parse(stdout);
      return typeof shown === 'object' && shown !== null && 'workspace' in shown ? shown.workspace : null;
    };
    mkdirSync(stage.path('packages/a/src'));
    expect(await workspaceOf('it', 'packages/a/src')).toBe(stage.path('packages/a'));
    expect(await workspaceOf('outer', 'packages/a/src')).toBe(stage.workspace);
    expect(await workspaceOf('it', 'packages')).toBe(stage.workspace);
    const names = (folder: string) => stage.ralph('ls', '--format=names', '--cwd', stage.path(folder)).ended;
    expect((await names('packages/a/src')).stdout).toBe('it\n');
    expect((await names('packages')).stdout).toBe('it\nouter\n');
    // A nested repository, as a submodule is one.
    mkdirSync(stage.path('packages/a/nested/.git'), { recursive: true });
    expect((await names('packages/a/nested')).stdout).toBe('');
    const unknown = await stage.ralph('stop', 'it', '--cwd', stage.path('packages/a/nested')).ended;
    expect(unknown).toMatchObject({ code: 2 });
    expect(unknown.stderr).toBe(
      `ralph: error: no loop named "it" in this workspace; there are 2 in other workspaces: ${stage.workspace}, ${stage.path('packages/a')} (change to one of these folders first)\n`,
    );
  });

  it('of another workspace is named with its folder, for every command with a name', async () => {
    const stage = openLoadedStage();
    await runIn(stage, '.', 'it');
    const other = stage.path("../another person's place");
    mkdirSync(other);
    const controls =
      'pause it,stop it,kill it,resume it,rewind it 1,set it max-iterations=2,tell it more,answer it yes';
    const views = 'status it,status it --json,logs it,attach it,story it,wait it,diff it,rm it';
    const others = 'worktree merge it,worktree rm it,bus read it,bus watch it,bus post --loop it a';
    const commands = `${controls},${views},${others}`.split(',');
    for (const command of commands)
      // oxlint-disable-next-line no-await-in-loop -- one command at a time runs inside the test
      expect(await stage.ralph(...command.split(' '), '--cwd', other).ended).toMatchObject({
        code: 2,
        stderr: `ralph: error: no loop named "it" in this workspace; there is one in ${stage.workspace} (go there with: cd ${stage.workspace})\n`,
      });
    await stage.ralph('run', '--cwd', other, '--name', 'there', ...work, '--', stage.agent).ended;
    const { stderr } = await stage.ralph('status', 'there').ended;
    expect(stderr).toContain(`(go there with: cd '${dirname(stage.workspace)}/another person'\\''s place')`);
  });
});
