/** Progress does not count what checks and commits write, with the built command in a real repository. */
import { describe, expect, it } from 'vitest';
import { openLoadedStage, type Stage } from './stage.ts';

/** Writes a report that is another one each time and that git does not ignore, and then runs this. */
const littering = (then: string): string =>
  `printf . >> "$FAKE_PLAN/litter"; cp "$FAKE_PLAN/litter" junit.xml; ${then}`;

async function loop(stage: Stage, check: string, ...more: readonly string[]): Promise<Iterations> {
  const { stderr } = await stage.run('-p', 'work', '-m', '14', '--check', check, ...more);
  const iterations = stage.journal.filter(({ type }) => type === 'iteration.started').length;
  return { iterations, isStuck: stderr.includes('stuck: 5 consecutive iterations without progress') };
}

interface Iterations {
  readonly iterations: number;
  readonly isStuck: boolean;
}

describe('an agent that does nothing ends as stuck after five iterations', () => {
  it.each([
    ['a check that writes nothing', 'exit 1'],
    ['a check that fails and writes a report', littering('exit 1')],
    ['a check that passes and writes a report', littering('exit 0')],
    ['a check that stages what it writes', littering('git add junit.xml; exit 1')],
  ])('with %s', async (_, check) => {
    expect(await loop(openLoadedStage(), check)).toEqual({ iterations: 5, isStuck: true });
  });

  it('with commits of what such a check writes', async () => {
    const stage = openLoadedStage();
    stage.git('config', 'user.name', 't');
    stage.git('config', 'user.email', 't@t');
    stage.settings({ scm: { command: 'git', tasks: ['commit'] } });
    stage.plans('default', 'echo "Add a report"');
    expect(await loop(stage, littering('exit 0'))).toEqual({ iterations: 5, isStuck: true });
    expect(stage.git('log', '--format=%s').split('\n').length).toBeGreaterThan(5);
  });

  it('with such a check in a folder of the repository, where the tree does not tell everything', async () => {
    const stage = openLoadedStage();
    stage.write('part/a.txt', 'a\n');
    const run = ['run', '--name', 'it', '--cwd', 'part', '-p', 'work', '-m', '14', '--check'];
    const { stderr } = await stage.ralph(...run, littering('exit 1'), '--', stage.agent).ended;
    expect(stderr).toContain('stuck: 5 consecutive iterations without progress');
    expect(stage.calls).toBe(5);
  });
});

describe('an agent that works', () => {
  it('is never stuck, whatever its check writes', async () => {
    const stage = openLoadedStage();
    stage.plans('default', 'echo more >> work.txt');
    expect(await loop(stage, littering('exit 1'))).toEqual({ iterations: 14, isStuck: false });
  });

  it('has five more iterations after its work, and after a check that passes for the first time', async () => {
    const stage = openLoadedStage();
    stage.plans(3, 'echo more >> work.txt');
    const check = littering('[ "$(wc -c < junit.xml)" -ge 6 ]');
    // Nothing in 1 and 2, work in 3, nothing in 4 and 5, a check that passes in 6, and nothing in 7 to 11.
    expect(await loop(stage, check)).toEqual({ iterations: 11, isStuck: true });
  });
});
