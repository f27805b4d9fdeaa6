import { diffLoop } from '../commands/diff.ts';
import { findLoop } from './loops.ts';
import { workspaceOf } from './workspace.ts';

/** `ralph diff`: what a loop has changed, as the user's own git shows it. */
export function diff(
  name: string,
  what: string | null,
  options: { readonly stat?: boolean; readonly cwd?: string },
): Promise<number> {
  return diffLoop(findLoop(workspaceOf(options), name), what, options.stat === true ? ['--stat'] : []);
}
