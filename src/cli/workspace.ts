import { realpathSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { UserError } from '../user-error.ts';

/** The folder that a command works in: a new loop belongs there, and other loops are looked for from there upwards. */
export function workspaceOf({ cwd }: { readonly cwd?: string }): string {
  const folder = resolve(here(), cwd ?? '.');
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new UserError(`--cwd: no such folder: ${folder}`);
  }
  return realpathSync(folder);
}

function here(): string {
  try {
    return process.cwd();
  } catch {
    throw new UserError('the current folder no longer exists; change to another folder');
  }
}
