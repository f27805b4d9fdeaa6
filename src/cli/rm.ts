import { sizeText } from '../loop/counted.ts';
import { UserError } from '../user-error.ts';
import { localLoops } from '../loops/local-loops.ts';
import { workspaceOf } from './workspace.ts';
import { print, warn } from './print.ts';

/** `ralph rm`: removes a loop and its files, unless it is running; with `gone`, all loops without a workspace. */
export async function rm(
  name: string | null,
  options: { readonly cwd?: string; readonly gone?: boolean },
): Promise<number> {
  if (options.gone === true) {
    if (name !== null)
      throw new UserError('--gone removes the loops of all workspaces that are gone, and takes no name');
    return removeGone();
  }
  if (name === null)
    throw new UserError('which loop? name it, or remove those of gone workspaces with: --gone');
  const loops = localLoops();
  const { agent, bytesForGc } = await loops.remove(await loops.find(name, workspaceOf(options)));
  print(`removed ${name}${agent === null ? '' : ` and stopped its agent (process ${agent})`}\n`);
  if (bytesForGc >= WORTH_SAYING)
    print(
      `git gc will free ${sizeText(bytesForGc)} that only its checkpoints used (by default once that is two weeks old)\n`,
    );
  return 0;
}

/** Bytes; the checkpoints of most loops take less. */
const WORTH_SAYING = 2 ** 20;

async function removeGone(): Promise<number> {
  let count = 0;
  for await (const { name, workspace, gone } of localLoops().removeGone()) {
    print(`removed ${name} of ${workspace}${gone === 'state' ? ', whose state is gone' : ''}\n`);
    count++;
  }
  if (count === 0) warn('ralph: the workspaces of all loops exist\n');
  return 0;
}
