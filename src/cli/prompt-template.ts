import { join } from 'node:path';
import { writePromptFile } from '../store/prompt-file.ts';
import { UserError } from '../user-error.ts';
import { print } from './print.ts';
import { workspaceOf } from './workspace.ts';

/** `ralph template`: prints the starter prompt of document 003. */
export function template(): number {
  print(TEMPLATE);
  return 0;
}

/** `ralph init --prompt`: writes the starter prompt into `PROMPT.md`. */
export function initPrompt(options: { readonly force?: boolean; readonly cwd?: string }): number {
  const written = writePromptFile(join(workspaceOf(options), PROMPT_FILE), TEMPLATE, options.force === true);
  if (written === null) throw new UserError(`${PROMPT_FILE} already exists (use --force to overwrite)`, 1);
  print(`created ${PROMPT_FILE}${written === 'overwritten' ? ' (overwritten)' : ''}\n`);
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
