import { realpathSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { UserError } from '../user-error.ts';

/** The folder that the work is in. */
export function workspaceOf({ cwd }: { readonly cwd?: string }): string {
  const folder = resolve(here(), cwd ?? '.');
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new UserError(`--cwd: there is no folder ${folder}`);
  }
  return realpathSync(folder);
}

function here(): string {
  try {
    return process.cwd();
  } catch {
    throw new UserError('the current folder is not there any more; go to another one');
  }
}
