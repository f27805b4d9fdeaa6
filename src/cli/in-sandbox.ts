/** `ralph` in a sandbox, where the state of all loops is hidden: only some commands work there. */
import { askedLoops } from '../loops/asked-loops.ts';
import { UserError } from '../user-error.ts';
import { statusText } from '../text/status.ts';
import { print, printJson, warn } from './print.ts';
import { startIn, type SandboxStart } from './sandbox-start.ts';

/** Runs a command that works in a sandbox, and refuses the others. `folder` is where requests go. */
export async function runInSandbox(args: readonly string[], folder: string): Promise<number> {
  const [command = 'run', ...rest] = args;
  const listing = rest.find((word) => word === '--all' || word.startsWith('--status'));
  if (listing !== undefined && (command === 'wait' || command === 'status'))
    throw new UserError(`ralph ${command} ${listing} does not work inside a sandbox; name a child loop`);
  if (SAME.has(command)) return (await import('./program.ts')).runProgram(args);
  const isTask = command.startsWith('-') || /\s/.test(command);
  const start = STARTS.find((one) => one === (isTask ? 'run' : command));
  if (start !== undefined) return startChild(folder, startIn(start, isTask ? args : rest));
  throw new UserError(
    `ralph ${command} does not work inside a sandbox; only ralph status, tell, bus, plan, run, loop, spawn, wait and stop do`,
  );
}

/** The buses lie on the desk and a plan in the workspace, which are not hidden; the owner answers the others. */
const SAME: ReadonlySet<string> = new Set(['status', 'tell', 'wait', 'stop', 'bus', 'plan']);
const STARTS = ['run', 'loop', 'spawn'] as const;

/** Starts a child loop, and shows its end unless it is left in the background. */
async function startChild(folder: string, { start, isDetached, isJson }: SandboxStart): Promise<number> {
  const loops = askedLoops(folder);
  const { id, name, workspace } = await loops.start(start);
  const started = `started ${name} in the background\n`;
  if (isDetached) {
    if (isJson) printJson({ name }, 2);
    else print(started);
    return 0;
  }
  warn(started);
  const rest = await loops.wait({ id, name, workspace });
  if (rest.is !== 'resting') return 1;
  print(`${statusText(rest.loop, process.env['HOME'])}\n`);
  return rest.loop.summary.record.exitCode;
}
