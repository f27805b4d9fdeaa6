/** The stage for scenarios with checkpoints. */
import { openLoadedStage, type OpenStage, type Stage } from './stage.ts';

export const done = "echo '<promise>DONE</promise>'";
/** Changes the same file in every iteration, and creates a new one. */
export const writeFiles = 'echo "$RALPH_ITERATION" >>log; echo 1 >"new-$RALPH_ITERATION"';

/** A stage where the user has a staged, a changed and a new file. */
export function openDirty(open: OpenStage = openLoadedStage): Stage {
  const stage = open();
  stage.write('staged', '1\n');
  stage.git('add', 'staged');
  stage.write('README.md', 'changed by hand\n');
  stage.write('mine', 'new\n');
  return stage;
}

/** The names of the records of all loops. */
export const records = (stage: Stage): readonly string[] =>
  stage
    .git('for-each-ref', '--format=%(refname)', 'refs/ralph')
    .split('\n')
    .slice(0, -1)
    .map((ref) => ref.replace(/^refs\/ralph\/it-[0-9a-f]{8}\//, ''));
/** The full ref of a record. */
export const ref = (stage: Stage, name: string): string =>
  stage.git('for-each-ref', '--format=%(refname)', `refs/ralph/*/${name}`).trim();
/** `git status` without `.ralph`. */
export const status = (stage: Stage): readonly string[] =>
  stage.git('status', '--porcelain', '--', '.', ':(exclude).ralph').split('\n').slice(0, -1);
/** HEAD, branch, index and stash: what Ralph must not change. */
export const gitState = (stage: Stage): readonly string[] => [
  stage.git('rev-parse', 'HEAD'),
  stage.git('symbolic-ref', 'HEAD'),
  stage.git('ls-files', '--stage'),
  stage.git('stash', 'list'),
];
