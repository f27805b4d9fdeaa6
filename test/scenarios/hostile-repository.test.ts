import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeHostile, type Canaries } from '../rig/hostile-repository.ts';
import { openLoadedStage, type Stage } from './stage.ts';

const done = "echo '<promise>DONE</promise>'";
const work =
  'echo "$RALPH_ITERATION" >>a.txt; echo 1 >"new-$RALPH_ITERATION.txt"; [ ! -e inner/.git ] || echo 3 >inner/a';

/** A stage in a hostile repository, with an agent that changes files, also in a nested repository. */
function openHostile(): { readonly stage: Stage; readonly canaries: Canaries } {
  const stage = openLoadedStage();
  stage.git('config', 'user.name', 'Some Body');
  stage.git('config', 'user.email', 'some@body');
  stage.write('a.txt', '0\n');
  stage.git('add', 'a.txt');
  stage.git('commit', '--quiet', '--message', 'a');
  const git = (...args: readonly string[]): string => stage.git(...args);
  const canaries = makeHostile(git, { work: stage.workspace, folder: join(stage.plan, 'canaries') });
  canaries.take();
  stage.plans('default', work);
  return { stage, canaries };
}

describe('a repository whose configuration names programs', () => {
  it('runs none of them from start to rewind: records, fingerprints, checks, prompts with diffs, views', async () => {
    const { stage, canaries } = openHostile();
    stage.plans(2, `${work}; ${done}`);
    const ended = await stage.run('-p', 'work', '--preset', 'conductor', '-m', '2', '--check', 'true');
    expect(ended.stderr).not.toContain('no checkpoint');
    expect(stage.calls).toBe(2);
    const commands = [
      ['status', 'it'],
      ['report'],
      ['diff', 'it'],
      ['diff', 'it', '1'],
      ['rewind', 'it', 'start'],
    ] as const;
    for (const command of [...commands, ['ls'], ['rm', 'it']] as const) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other is the point
      const { stderr } = await stage.ralph(...command).ended;
      expect(stderr).toBe('');
    }
    expect(stage.read('a.txt')).toBe('0\n');
    expect(canaries.take()).toEqual([]);
  });

  it('runs only the hooks, signatures and merge drivers of commits and merges that it makes for the user', async () => {
    const { stage, canaries } = openHostile();
    stage.git('config', 'commit.gpgSign', 'false');
    stage.git('-c', 'core.hooksPath=/dev/null', '-c', 'core.fsmonitor=', 'commit', '-qm', 'inner');
    canaries.take();
    stage.plans(1, `${work}; ${done}`);
    const ended = await stage.run('-p', 'work', '--worktree');
    expect(ended.code).toBe(0);
    const ofCommits = ['commit-msg', 'post-commit', 'post-index-change', 'pre-commit', 'prepare-commit-msg'];
    const named = (names: readonly string[]): readonly string[] => names.map((name) => `hooks/${name}`);
    expect(canaries.take()).toEqual(named([...ofCommits, 'reference-transaction']));
    expect((await stage.ralph('worktree', 'merge', 'it').ended).stderr).toBe('');
    const ofMerges = ['post-index-change', 'post-merge', 'reference-transaction'];
    expect(canaries.take().filter((name) => !named(ofMerges).includes(name))).toEqual([]);
    expect(stage.git('log', '-1', '--format=%s')).not.toBe('inner\n');
    expect(await stage.ralph('worktree', 'rm', 'it').ended).toMatchObject({ code: 0, stderr: '' });
    expect(canaries.take()).toEqual([]);
  });
});
