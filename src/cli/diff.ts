import { diffLoop } from '../commands/diff.ts';
import { findLoop } from './loops.ts';
import { workspaceOf } from './workspace.ts';

/** `ralph diff`: shows what a loop has changed, with the user's git configuration. */
export function diff(
  name: string,
  what: string | null,
  options: { readonly stat?: boolean; readonly cwd?: string },
): Promise<number> {
  return diffLoop(findLoop(workspaceOf(options), name), what, options.stat === true ? ['--stat'] : []);
}
