/** Taking over a loop that has no owner, for a person or a program of theirs. */
import type { Control } from '../loop/event.ts';
import type { AgentProgram } from '../owner/agent-host.ts';
import type { OwnedLoop } from '../owner/owner.ts';
import { takeOver } from '../owner/take-over.ts';
import { startersEnvironment } from '../store/run-environment.ts';
import type { LoopRef } from './loops.ts';
import type { Drive } from './send.ts';

/** Becomes the owner of a loop, to continue it; `given` are variables to add to its environment. */
export function ownHere(
  { workspace, name }: Pick<LoopRef, 'workspace' | 'name'>,
  given: Readonly<Record<string, string>> = {},
  program: AgentProgram = {},
): Promise<OwnedLoop> {
  return takeOver(workspace, name, { by: 'person', env: startersEnvironment(process.env), given }, program);
}

/** Becomes the owner of a loop to stop an agent that may still run, and to journal the stop. */
export async function endOrphan(
  loop: Pick<LoopRef, 'workspace' | 'name'>,
  control: Control,
  drive: Drive,
): Promise<void> {
  const owned = await ownHere(loop);
  owned.receive(control);
  await drive(owned);
}
