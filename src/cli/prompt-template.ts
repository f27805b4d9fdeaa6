import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { createFile, replaceFile } from '../files/replace-file.ts';
import { reasonOf, UserError } from '../user-error.ts';
import { print } from './print.ts';
import { workspaceOf } from './workspace.ts';

/** `ralph template`: prints the starter prompt of document 003. */
export function template(): number {
  print(TEMPLATE);
  return 0;
}

/** `ralph init --prompt`: writes the starter prompt into `PROMPT.md`. */
export function initPrompt(options: { readonly force?: boolean; readonly cwd?: string }): number {
  const path = join(workspaceOf(options), PROMPT_FILE);
  try {
    if (createFile(path, TEMPLATE)) {
      print(`created ${PROMPT_FILE}\n`);
      return 0;
    }
    if (options.force !== true)
      throw new UserError(`${PROMPT_FILE} already exists (use --force to overwrite)`, 1);
    if (lstatSync(path).isDirectory())
      throw new UserError(`cannot write ${PROMPT_FILE}: it is a folder; remove it or move it away`, 1);
    replaceFile(path, TEMPLATE);
  } catch (error) {
    if (error instanceof UserError || !(error instanceof Error) || !('code' in error)) throw error;
    throw new UserError(`cannot write ${PROMPT_FILE}: ${reasonOf(error)}`, 1, { cause: error });
  }
  print(`created ${PROMPT_FILE} (overwritten)\n`);
  return 0;
}

const PROMPT_FILE = 'PROMPT.md';

const TEMPLATE = `study specs/README.md
study CLAUDE.md and pick the most important incomplete task

IMPORTANT:

- do not assume anything is implemented - verify by reading code
- update IMPLEMENTATION_PLAN.md when the task is done
- if tests are missing, add them (choose unit/integration/property as appropriate, follow existing patterns)
- run tests after changes
- commit and push when you are done
`;
