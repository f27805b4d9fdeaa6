import { resolve } from 'node:path';
import { shortList } from '../loop/counted.ts';
import { localLoops } from '../loops/local-loops.ts';
import { print, warn } from './print.ts';
import { workspaceOf } from './workspace.ts';

/** `ralph move`: takes the loops of a workspace that was moved along to this one. */
export async function move(from: string, options: { readonly cwd?: string }): Promise<number> {
  const here = workspaceOf(options);
  const { to, taken, left } = await localLoops().move(resolve(from), here);
  const place = to === here ? 'this workspace' : to;
  if (taken.length > 0)
    print(
      `${taken.length === 1 ? 'this loop belongs' : 'these loops belong'} to ${place} now: ${shortList(taken, 20)}\n`,
    );
  for (const problem of left) warn(`ralph: not moved: ${problem}\n`);
  return left.length === 0 ? 0 : 1;
}
