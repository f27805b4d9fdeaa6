import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { openLoadedStage, type OpenStage, type Stage } from './stage.ts';

export const done = "echo '<response>DONE</response>'";
export const ralphCli: readonly string[] = ['-p', 'work', '--preset', 'ralph-cli', '-m', '2'];

/** A stage with SCM settings and a git identity. */
export function openRepository(
  scm: object = { command: 'git', tasks: ['commit'] },
  open: OpenStage = openLoadedStage,
): Stage {
  const stage = open();
  stage.write('.ralph/settings.json', JSON.stringify({ scm }));
  stage.identifies();
  return stage;
}

/** A bare repository that the workspace pushes to. */
export function remoteOf(stage: Stage): string {
  const remote = join(stage.plan, 'remote.git');
  stage.git('init', '--quiet', '--bare', remote);
  stage.git('remote', 'add', 'origin', remote);
  stage.git('config', 'push.default', 'current');
  return remote;
}

/** The subjects of all commits, newest first. */
export const subjects = (stage: Stage): readonly string[] =>
  stage.git('log', '--format=%s').split('\n').slice(0, -1);
/** `git status` without `.ralph`. */
export const status = (stage: Stage): readonly string[] =>
  stage.git('status', '--porcelain', '--', '.', ':(exclude).ralph').split('\n').slice(0, -1);

/** Installs a git hook. */
export function hook(stage: Stage, name: string, script: string): void {
  stage.write(`.git/hooks/${name}`, `#!/bin/sh\n${script}\n`);
  chmodSync(stage.path(`.git/hooks/${name}`), 0o755);
}
