import { maskOf } from '../store/mask.ts';
import { readLoopIn, type LoopReading } from '../store/read-loop.ts';
import { UserError } from '../user-error.ts';
import { followLoop } from '../loops/follow-loop.ts';
import { attachWindow, closeUnseenWindow, showWindow, windowOf } from '../loops/window.ts';
import { Console } from './console.ts';
import { finish } from './drive.ts';
import { findLoop, refuseUnreadable } from '../loops/find.ts';
import { warn } from './print.ts';
import { keepDaemonAwake } from '../daemon/wake-daemon.ts';
import { workspaceOf } from './workspace.ts';

/** `ralph attach`: shows the live window of a loop, or its stream where it has none, until the user detaches. */
export async function attach(name: string | null, options: AttachOptions): Promise<number> {
  if (options.view !== undefined) return show(options.view);
  if (name === null) throw new UserError('name the loop to attach to: ralph attach NAME');
  const loop = findLoop(workspaceOf(options), name);
  refuseUnreadable(loop);
  if (loop.state.outcome !== null)
    throw new UserError(
      `loop ${name} has ended; what its agent did: ralph logs ${name}, what Ralph did: ralph story ${name}`,
      1,
    );
  if (!process.stdin.isTTY || !process.stdout.isTTY)
    throw new UserError(`ralph attach needs a terminal; to follow the output use: ralph logs ${name} -f`);
  const window = await openWindow(loop);
  if (window === null) return follow(loop);
  // If the terminal is closed, the window of a loop that is over is closed too.
  process.on('SIGHUP', ignore);
  const code = await attachWindow(loop.spec, window);
  const { state, owner } = readLoopIn(loop.folder.path);
  if (state.outcome !== null || (state.control.paused && owner === null)) await closeUnseenWindow(loop.spec);
  return code;
}

export interface AttachOptions {
  readonly cwd?: string;
  /** The folder of the loop, for the viewer in a window. */
  readonly view?: string;
}

/** The window of a loop; made again if it was closed while the loop runs. */
async function openWindow(loop: LoopReading): ReturnType<typeof windowOf> {
  const found = await windowOf(loop.spec);
  if (found !== null || loop.owner === null) return found;
  try {
    await showWindow(loop);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    warn(`ralph: warning: no window: ${error.message}\n`);
  }
  return windowOf(loop.spec);
}

/** Shows the stream of a loop. Ctrl-C ends only the view. */
async function follow({ spec, folder }: LoopReading): Promise<number> {
  const { name } = spec;
  const view = new Console(spec, {}, maskOf(spec));
  const stopWaking = keepDaemonAwake();
  process.once('SIGINT', () => {
    view.close();
    warn(`\nralph: detached from ${name}, which continues\n`);
    process.exit(0);
  });
  view.status('showing its output; Ctrl-C detaches and does not stop the loop');
  const end = await followLoop(folder, view, { from: 'iteration' });
  stopWaking();
  await finish(view, end, spec, {});
  return 0;
}

/** Shows a loop in its window until it ends; a person in the window cannot end it. */
async function show(path: string): Promise<number> {
  const { spec, folder } = readLoopIn(path);
  process.on('SIGINT', ignore).on('SIGQUIT', ignore).on('SIGTSTP', ignore);
  const view = new Console(spec, {}, maskOf(spec));
  const end = await followLoop(folder, view, { from: 'iteration', until: 'end' });
  return finish(view, end, spec, {});
}

function ignore(): void {}
