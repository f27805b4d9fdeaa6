/** Taking over a loop that has no owner, for a person or a program of theirs. */
import type { Control } from '../loop/event.ts';
import type { AgentProgram } from '../owner/agent-host.ts';
import type { OwnedLoop } from '../owner/owner.ts';
import { takeOver } from '../owner/take-over.ts';
import { startersEnvironment } from '../home/run-environment.ts';
import { replaced } from './find.ts';
import type { LoopRef } from './loops.ts';
import type { Drive } from './send.ts';

/** Becomes the owner of a loop, to continue it; `given` are variables to add to its environment. */
export async function ownHere(
  { id, workspace, name }: LoopRef,
  given: Readonly<Record<string, string>> = {},
  program: AgentProgram = {},
): Promise<OwnedLoop> {
  const env = startersEnvironment(process.env);
  const owned = await takeOver(workspace, name, { by: 'person', env, given }, program);
  if (owned.spec.id === id) return owned;
  owned.close();
  throw replaced(name);
}

/** Becomes the owner of a loop to stop an agent that may still run, and to journal the stop. */
export async function endOrphan(loop: LoopRef, control: Control, drive: Drive): Promise<void> {
  const owned = await ownHere(loop);
  owned.receive(control);
  await drive(owned);
}
