import { basename } from 'node:path';
import { splitWords } from '../loop/words.ts';
import type { CommitPolicy } from '../loop/policy.ts';
import { findCommand } from '../process/command.ts';

/** The program of a version control, with options of the user's own. */
export interface ScmProgram {
  readonly command: readonly [string, ...string[]];
  readonly isGit: boolean;
}

/** Where it is, or why it cannot be run. */
export function scmProgram(
  { command }: CommitPolicy,
  workspace: string,
  env: Readonly<Record<string, string>>,
): ScmProgram | { readonly problem: string } {
  const [name = '', ...options] = splitWords(command) ?? [];
  const found = findCommand(name, env['PATH'] ?? '', workspace);
  if (found.found === 'nothing')
    return { problem: `the SCM command is not there: ${name} (looked in PATH from ${workspace})` };
  if (found.found === 'not-executable')
    return { problem: `the SCM command is not executable: ${found.path} (chmod +x it)` };
  return { command: [found.path, ...options], isGit: basename(name) === 'git' };
}
