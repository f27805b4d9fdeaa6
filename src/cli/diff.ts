import { fstatSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { localLoops } from '../loops/local-loops.ts';
import { CommandGuard, obeysCommands } from '../text/workflow-commands.ts';
import { warnUnreadable } from './print.ts';
import { workspaceOf } from './workspace.ts';

/** `ralph diff`: shows what a loop has changed, with the user's git configuration. */
export async function diff(
  name: string,
  what: string | null,
  options: { readonly stat?: boolean; readonly cwd?: string },
): Promise<number> {
  const loops = localLoops();
  const loop = await loops.find(name, workspaceOf(options));
  warnUnreadable(await loops.get(loop));
  const more = options.stat === true ? ['--stat'] : [];
  // A patch in a file is no output of the job, and has to be exact.
  if (!obeysCommands(process.env) || fstatSync(1).isFile()) return loops.showDiff(loop, what, more, null);
  const decoder = new StringDecoder('utf8');
  const guard = new CommandGuard();
  const code = await loops.showDiff(loop, what, more, (chunk) => {
    process.stdout.write(guard.read(decoder.write(chunk)));
  });
  process.stdout.write(guard.end());
  return code;
}
