import { handOver } from '../daemon/hand-over.ts';
import type { OwnedLoop } from '../owner/owner.ts';
import { maskOf } from '../store/mask.ts';
import { readLoopAt } from '../store/read-loop.ts';
import { followLoop } from '../views/follow-loop.ts';
import type { EndedLoop } from '../views/loop-result.ts';
import { Console, detailLine } from './console.ts';
import { finish } from './drive.ts';
import type { ViewOptions } from './options.ts';
import { print, printJson, warn } from './print.ts';
import { shownSummary } from './status.ts';

/** Gives a loop to the daemon, and says where to find it. */
export async function leaveInBackground(
  loop: OwnedLoop,
  options: ViewOptions,
  line: string = startedLine(loop),
): Promise<number> {
  const { folder } = loop;
  showNotes(loop, options);
  await handOver(loop);
  const reading = options.json === true ? readLoopAt(folder) : null;
  if (reading !== null) printJson(shownSummary(reading), 2);
  else if (options.quiet !== true) print(`${line}\n`);
  return 0;
}

/** Prints what the user should know before the loop begins: notes, and the command line that it starts. */
export function showNotes(loop: OwnedLoop, options: ViewOptions): void {
  if (options.quiet === true) return;
  const { notes, mask, spec, state, shownCommand } = loop;
  for (const note of notes) warn(`${mask.text(`[ralph] ${spec.name}: ${note}`)}\n`);
  const command = detailLine(`Agent command: ${shownCommand}`, options, state.policy.wording.datedStamps);
  warn(`${mask.text(command)}\n`);
}

function startedLine({ spec: { name } }: OwnedLoop): string {
  return [
    `started ${name} in the background`,
    `  watch it: ralph attach ${name}`,
    `  its state: ralph status ${name}`,
    `  stop it: ralph stop ${name}`,
  ].join('\n');
}

/**
 * Gives a loop to the daemon and shows it until it ends. A loop that an agent starts is run this way: the clean-up after
 * the agent's run ends this process, and not the loop.
 */
export async function followInBackground(
  loop: OwnedLoop,
  options: ViewOptions,
  {
    owned,
    ended,
  }: { readonly owned?: (view: Console) => void; readonly ended?: (loop: EndedLoop) => void } = {},
): Promise<number> {
  const { folder, spec } = loop;
  // While the environment is kept: it is deleted when the loop ends.
  const mask = maskOf(spec);
  await handOver(loop);
  const view = new Console(spec, options, mask);
  owned?.(view);
  const end = await followLoop(folder, view);
  if (end.status === 'paused') view.status('paused, exiting loop');
  const code = await finish(view, end, spec, options);
  ended?.({ folder, spec, mask, end: () => end });
  return code;
}
