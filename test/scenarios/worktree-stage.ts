/** The stage for scenarios with worktrees. */
import { join, dirname } from 'node:path';
import { expect } from 'vitest';
import { openLoadedStage, type OpenStage, type Stage } from './stage.ts';
import type { Ended } from './ralph.ts';

export const done = "echo '<promise>DONE</promise>'";
export const work: string = `echo 1 >work; ${done}`;

/** A stage with a git identity and the branch `main`. */
export function openRepository(settings: object | null = null, open: OpenStage = openLoadedStage): Stage {
  const stage = open({ branch: 'main' });
  stage.identifies();
  if (settings !== null) stage.settings(settings);
  return stage;
}

/** The default path of a worktree, beside the repository. */
export const sibling = (stage: Stage, name = 'it'): string =>
  join(dirname(stage.workspace), 'workspace-worktrees', name);
/** The path of a worktree of the architect preset, inside the repository. */
export const inside = (stage: Stage): string => stage.path('.architect-ralph-worktree');
export const architect: readonly string[] = ['--preset', 'architect', '--completion-tag', 'DONE'];
/** Paths of files in a worktree. */
export const treeOf = (stage: Stage, name = 'it'): ((file: string) => string) => {
  return (file) => join(sibling(stage, name), file);
};
/** `git status` of the main tree, without `.ralph`. */
export const status = (stage: Stage): string =>
  stage.git('status', '--porcelain', '--', '.', ':(exclude).ralph');
export const subjects = (stage: Stage, branch: string): readonly string[] =>
  stage.git('log', '--format=%s', branch).split('\n').slice(0, -1);
/** The number of worktrees, including the main one. */
export const worktrees = (stage: Stage): number => stage.git('worktree', 'list').split('\n').length - 1;
/** Runs the loop `it` in a worktree, with a check for the file `work`. */
export const runs = (stage: Stage, ...args: readonly string[]): Promise<Ended> =>
  stage.run('-p', 'Make the work', '--worktree', '--check', 'test -e work', ...args);
/** Runs `ralph worktree`. */
export const worktree = (stage: Stage, ...args: readonly string[]): Promise<Ended> =>
  stage.ralph('worktree', ...args).ended;
export const says = (text: string): unknown => expect.stringContaining(text);
export const matches = (pattern: RegExp): unknown => expect.stringMatching(pattern);
