import { removeLoop } from '../commands/remove.ts';
import { findLoop } from './loops.ts';
import { workspaceOf } from './workspace.ts';
import { print } from './print.ts';

/** `ralph rm`: removes a loop and its files, unless it is running. */
export async function rm(name: string, options: { readonly cwd?: string }): Promise<number> {
  const agent = await removeLoop(findLoop(workspaceOf(options), name));
  print(`removed ${name}${agent === null ? '' : ` and stopped its agent (process ${agent})`}\n`);
  return 0;
}
