import { basename } from 'node:path';
import { splitWords } from '../loop/words.ts';
import type { CommitPolicy } from '../loop/policy.ts';
import { findCommand } from '../process/command.ts';

/** The SCM program with the user's own options. */
export interface ScmProgram {
  readonly command: readonly [string, ...string[]];
  readonly isGit: boolean;
}

/** Finds the program, or says why it cannot be run. */
export function scmProgram(
  { command }: CommitPolicy,
  workspace: string,
  env: Readonly<Record<string, string>>,
): ScmProgram | { readonly problem: string } {
  const [name = '', ...options] = splitWords(command) ?? [];
  const found = findCommand(name, env['PATH'] ?? '', workspace);
  if (found.found === 'nothing')
    return { problem: `SCM command not found: ${name} (looked in PATH from ${workspace})` };
  if (found.found === 'not-executable')
    return { problem: `SCM command is not executable: ${found.path} (make it executable with chmod +x)` };
  return { command: [found.path, ...options], isGit: basename(name) === 'git' };
}
