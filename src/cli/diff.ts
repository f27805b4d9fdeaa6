import { fstatSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { localLoops } from '../loops/local-loops.ts';
import { runAttached } from '../process/attached.ts';
import { CommandGuard, obeysCommands } from '../text/workflow-commands.ts';
import { UserError } from '../user-error.ts';
import { loopAndWords } from './chosen-loop.ts';
import { warnUnreadable } from './print.ts';
import { workspaceOf } from './workspace.ts';

/** `ralph diff`: shows what a loop has changed with `git diff` on our terminal: with the user's pager, colours and configuration. */
export async function diff(
  given: readonly string[],
  options: { readonly stat?: boolean; readonly cwd?: string },
): Promise<number> {
  const loops = localLoops();
  const { loop, words } = await loopAndWords(loops, given, workspaceOf(options), 'diff');
  const [what = null] = words;
  warnUnreadable(await loops.get(loop));
  const { argv, ...place } = await loops.diffCommand(loop, what, options.stat === true ? ['--stat'] : []);
  const guard = new CommandGuard();
  const decoder = new StringDecoder('utf8');
  const show = (chunk: Buffer): void => void process.stdout.write(guard.read(decoder.write(chunk)));
  // A patch in a file is no output of the job, and has to be exact.
  const isGuarded = obeysCommands(process.env) && !fstatSync(1).isFile();
  const code = await runAttached(argv, place, isGuarded ? show : null);
  if (code === null) throw new UserError('git is required but not installed');
  process.stdout.write(guard.end());
  return code;
}
