import { join } from 'node:path';
import { writePromptFile } from '../loops/given-prompt.ts';
import { STARTER_PROMPT } from '../loop/starter-prompt.ts';
import { UserError } from '../user-error.ts';
import { print, printAsIs } from './print.ts';
import { workspaceOf } from './workspace.ts';

/** `ralph template`: prints the starter prompt of document 003. */
export function template(): number {
  printAsIs(STARTER_PROMPT);
  return 0;
}

/** `ralph init --prompt`: writes the starter prompt into `PROMPT.md`. */
export function initPrompt(options: { readonly force?: boolean; readonly cwd?: string }): number {
  const written = writePromptFile(
    join(workspaceOf(options), PROMPT_FILE),
    STARTER_PROMPT,
    options.force === true,
  );
  if (written === null) throw new UserError(`${PROMPT_FILE} already exists (use --force to overwrite)`, 1);
  print(`created ${PROMPT_FILE}${written === 'overwritten' ? ' (overwritten)' : ''}\n`);
  return 0;
}

const PROMPT_FILE = 'PROMPT.md';
