/** A stage whose loops run in a sandbox, and a home with files that no agent may reach. */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { onDisk } from '../rig/temporary-folder.ts';
import { openLoadedStage, type Stage } from './stage.ts';

export interface Cage {
  readonly stage: Stage;
  /** Writes a file of the home, and returns its path. */
  readonly inHome: (name: string, text: string) => string;
  /** The canary: a path that exists only if something outside of the sandbox has run a command of the agent's. */
  readonly canary: string;
  readonly hasSung: () => boolean;
}

export function openCage(more: object = {}): Cage {
  const stage = openLoadedStage({ parent: onDisk() });
  stage.identifies();
  const home = stage.env['HOME'] ?? '';
  const inHome = (name: string, text: string): string => {
    const path = join(home, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  };
  const sandbox = { write: [stage.plan, dirname(stage.agent)], ...more };
  inHome('.config/ralph/settings.json', JSON.stringify({ sandbox }));
  commits(stage, 'commit');
  // What it says when it is asked for a commit message.
  stage.plans('default', 'echo Work');
  const canary = join(home, 'canary');
  return { stage, inHome, canary, hasSung: () => existsSync(canary) };
}

/** Sets the SCM tasks of the loops that start from now on. */
export function commits(stage: Stage, ...tasks: readonly string[]): void {
  stage.settings({ scm: { command: 'git', tasks } });
}

/** The files as they are now, by path. */
export function contents(paths: readonly string[]): readonly string[] {
  return paths.map((path) => readFileSync(path, 'utf8'));
}

export const DONE = 'echo "<promise>DONE</promise>"';

/** The options of a loop with one iteration. */
export const COMMIT: readonly string[] = ['-p', 'a task', '-m', '1'];

/** Makes a file executable for git: a hook. */
export function hook({ stage }: Cage, name: string, line: string): void {
  stage.write(name, `#!/bin/sh\n${line}\n`);
  chmodSync(stage.path(name), 0o755);
}

/** Gives the repository a remote, `origin`, and returns its folder. */
export function withRemote({ stage, inHome }: Cage): string {
  const remote = dirname(inHome('remote.git/x', ''));
  execFileSync('git', ['init', '-q', '--bare'], { cwd: remote, env: stage.env });
  stage.git('remote', 'add', 'origin', remote);
  return remote;
}

/** The commit of a remote's branch, as git prints it. */
export function branchAt({ stage }: Cage, remote: string, branch: string = 'master'): string {
  return execFileSync('git', ['rev-parse', branch], { cwd: remote, env: stage.env, encoding: 'utf8' });
}
