import { UserError } from '../user-error.ts';
import { followLoop, toFollow } from '../loops/follow-loop.ts';
import { localLoops } from '../loops/local-loops.ts';
import type { LoopRef } from '../loops/loops.ts';
import { attachWindow, openWindow } from '../loops/window.ts';
import { chosenLoop } from './chosen-loop.ts';
import { Console } from './console.ts';
import { finish } from './drive.ts';
import { warn } from './print.ts';
import { keepDaemonAwake } from '../background/background.ts';
import { workspaceOf } from './workspace.ts';

/** `ralph attach`: shows the live window of a loop, or its stream where it has none, until the user detaches. */
export async function attach(named: string | null, options: AttachOptions): Promise<number> {
  if (options.view !== undefined) return show(options.view);
  const loops = localLoops();
  const loop = await chosenLoop(loops, named, workspaceOf(options), 'attach');
  const { name } = loop;
  const { state, trouble } = await loops.get(loop);
  if (trouble !== null) throw new UserError(trouble);
  if (state.outcome !== null)
    throw new UserError(
      `loop ${name} has ended; what its agent did: ralph logs ${name}, what Ralph did: ralph story ${name}`,
      1,
    );
  if (!process.stdin.isTTY || !process.stdout.isTTY)
    throw new UserError(`ralph attach needs a terminal; to follow the output use: ralph logs ${name} -f`);
  const { window, problem } = await openWindow(loop);
  if (problem !== null) warn(`ralph: warning: no window: ${problem}\n`);
  if (window === null) return follow(loop);
  // If the terminal is closed, the window of a loop that is over is closed too.
  process.on('SIGHUP', ignore);
  return attachWindow(loop, window);
}

export interface AttachOptions {
  readonly cwd?: string;
  /** The folder of the loop, for the viewer in a window. */
  readonly view?: string;
}

/** Shows the stream of a loop. Ctrl-C ends only the view. */
async function follow(loop: LoopRef): Promise<number> {
  const { name } = loop;
  const followed = toFollow(loop);
  const { spec } = followed;
  const view = new Console(spec, {}, followed.mask);
  const stopWaking = keepDaemonAwake();
  process.once('SIGINT', () => {
    view.close();
    warn(`\nralph: detached from ${name}, which continues\n`);
    process.exit(0);
  });
  view.status('showing its output; Ctrl-C detaches and does not stop the loop');
  const end = await followLoop(followed, view, { from: 'iteration' });
  stopWaking();
  await finish(view, end, spec, {});
  return 0;
}

/** Shows a loop in its window until it ends; a person in the window cannot end it. */
async function show(path: string): Promise<number> {
  const followed = toFollow(path);
  process.on('SIGINT', ignore).on('SIGQUIT', ignore).on('SIGTSTP', ignore);
  const view = new Console(followed.spec, {}, followed.mask);
  const end = await followLoop(followed, view, { from: 'iteration', until: 'end' });
  return finish(view, end, followed.spec, {});
}

function ignore(): void {}
