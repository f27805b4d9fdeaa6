/** Where git finds the repository of a command: by its folder, and by variables of its environment. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Environment } from '../process/process.ts';

/** Removes the variables that tie git to one repository: in a hook or `git rebase --exec` all commands would go there. */
export function withoutGitLocation(env: Environment): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !LOCATION_VARIABLES.has(name)));
}

const LOCATION_VARIABLES = new Set([
  'GIT_DIR',
  'GIT_WORK_TREE',
  'GIT_INDEX_FILE',
  'GIT_COMMON_DIR',
  'GIT_OBJECT_DIRECTORY',
  'GIT_ALTERNATE_OBJECT_DIRECTORIES',
  'GIT_NAMESPACE',
  'GIT_PREFIX',
  'GIT_INTERNAL_SUPER_PREFIX',
]);

/** Whether a folder is in a repository. Cheaper than running git. */
export function isInRepository(folder: string): boolean {
  return existsSync(join(folder, '.git')) || (dirname(folder) !== folder && isInRepository(dirname(folder)));
}
