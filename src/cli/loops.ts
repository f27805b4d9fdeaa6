import { readLoop, type LoopReading } from '../store/read-loop.ts';
import { problemWithName } from '../store/names.ts';
import type { Control } from '../loop/event.ts';
import { UserError } from '../user-error.ts';
import { print } from './print.ts';

/** The loop of this name, or a message that says which there are. */
export function findLoop(workspace: string, name: string): LoopReading {
  const problem = problemWithName(name);
  if (problem !== null) throw new UserError(`bad name ${JSON.stringify(name)}: ${problem}`);
  return readLoop(workspace, name);
}

/** Sends a control and says what became of it: queued, delivered or used. */
export async function sendTo(loop: LoopReading, control: Control, done: string): Promise<number> {
  const { name } = loop.spec;
  if (loop.trouble !== null) throw new UserError(loop.trouble);
  const { deliver } = await import('../store/deliver.ts');
  const fate = await deliver(loop, control);
  switch (fate) {
    case 'queued':
      print(`queued for ${name}: nobody drives it now; it is used when it goes on (ralph resume ${name})\n`);
      return 0;
    case 'delivered':
      print(`${done}\n`);
      return 0;
    case 'refused':
      throw new UserError(`"${name}" cannot do that: ${JSON.stringify(control)}`);
    case 'unanswered':
      print(`queued for ${name}: its owner (process ${loop.owner}) does not answer; is it stopped?\n`);
      return 0;
  }
}
