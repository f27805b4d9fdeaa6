import { refOf } from '../loops/find.ts';
import type { Begun } from '../loops/loops.ts';
import { localLoops } from '../loops/local-loops.ts';
import { followLoop } from '../loops/follow-loop.ts';
import type { EndedLoop } from '../loops/result.ts';
import { Console, detailLine } from './console.ts';
import { finish } from './drive.ts';
import type { ViewOptions } from './options.ts';
import { print, printJson, warn, warnAsIs } from './print.ts';

/** What a command does with a loop once the daemon owns it; returns its exit code. */
export type Then = () => Promise<number>;

/** Shows a loop that is about to be given to the daemon, and then says where to find it. */
export function leaveInBackground(loop: Begun, options: ViewOptions, line: string = startedLine(loop)): Then {
  showNotes(loop, options);
  return async () => {
    if (options.json === true) printJson((await localLoops().get(refOf(loop))).summary, 2);
    else if (options.quiet !== true) print(`${line}\n`);
    return 0;
  };
}

/** Prints what the user should know before the loop begins: notes, and the command line that it starts. */
export function showNotes(loop: Begun, options: ViewOptions): void {
  if (options.quiet === true) return;
  const { notes, mask, spec, state, shownCommand } = loop;
  for (const note of notes) warn(`${mask.text(`[ralph] ${spec.name}: ${note}`)}\n`);
  const command = detailLine(`Agent command: ${shownCommand}`, options, state.policy.wording.datedStamps);
  warnAsIs(`${mask.text(command)}\n`);
}

function startedLine({ spec: { name } }: Begun): string {
  return [
    `started ${name} in the background`,
    `  watch it: ralph attach ${name}`,
    `  its state: ralph status ${name}`,
    `  stop it: ralph stop ${name}`,
  ].join('\n');
}

/**
 * Shows a loop until it ends, once the daemon owns it. A loop that an agent starts is run this way: the clean-up after the agent's
 * run ends this process, and not the loop.
 */
export function followInBackground(
  loop: Begun,
  options: ViewOptions,
  {
    owned,
    ended,
  }: { readonly owned?: (view: Console) => void; readonly ended?: (loop: EndedLoop) => Promise<void> } = {},
): Then {
  return async () => {
    const { folder, spec, mask } = loop;
    const view = new Console(spec, options, mask);
    owned?.(view);
    const end = await followLoop(loop, view);
    if (end.status === 'paused') view.status('paused, exiting loop');
    const code = await finish(view, end, spec, options);
    await ended?.({ folder, spec, mask, end: () => end });
    return code;
  };
}
