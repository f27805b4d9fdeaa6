/** A machine on which git is not installed. */
import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openLoadedStage, type Stage } from './stage.ts';

const MISSING = 'git is not installed (not found in PATH)';

/** Leaves only these programs in PATH. */
function hideGit(stage: Stage): void {
  const bin = join(stage.plan, 'programs');
  mkdirSync(bin);
  const folders = (process.env['PATH'] ?? '').split(':');
  for (const name of ['sh', 'cat', 'ps', 'flock', 'setsid', 'sleep', 'true']) {
    const found = folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
    if (found !== undefined) symlinkSync(found, join(bin, name));
  }
  stage.env['PATH'] = bin;
}

const runs = (stage: Stage, ...words: readonly string[]) =>
  stage.ralph('run', 'work', '--name', 'it', '-m', '2', ...words, '--', 'sh', '-c', 'cat >/dev/null').ended;

it('a loop in a repository says so once and goes on as outside of one', async () => {
  const stage = openLoadedStage();
  hideGit(stage);
  const { code, stderr } = await runs(stage, '--check', 'true', '--max-unchanged', '1');
  expect({ code, stderr }).toMatchObject({ code: 1 });
  expect(stderr).toContain(`[ralph] it: ${MISSING}: no diffs, no checkpoints, no limit on iterations`);
  expect(stderr.match(/git/g)).toHaveLength(1);
  expect(stderr).toContain('iteration limit reached: 2');
  expect((await stage.ralph('resume', 'it', '-m', '3').ended).stderr).not.toContain('git');
  expect((await stage.ralph('diff', 'it').ended).stderr).toBe(`ralph: error: ${MISSING}\n`);
});

it.each([
  ['--worktree', ['--worktree'], `--worktree needs git: ${MISSING}`],
  ['--protect', ['--protect', 'README.md'], `(${MISSING}): protected files are compared`],
])('%s is refused before anything starts', async (_, words, reason) => {
  const stage = openLoadedStage();
  hideGit(stage);
  const { code, stderr } = await runs(stage, ...words);
  expect(code).toBe(2);
  expect(stderr).toContain(reason);
  expect(stage.loops).toEqual([]);
});

it('a loop that commits is refused before anything starts', async () => {
  const stage = openLoadedStage();
  hideGit(stage);
  stage.settings({ scm: { command: 'git', tasks: ['commit'] } });
  const { code, stderr } = await runs(stage);
  expect(code).toBe(2);
  expect(stderr).toContain('SCM command not found: git (looked in PATH from ');
  expect(stage.loops).toEqual([]);
});
