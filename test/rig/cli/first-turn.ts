import type { Program } from './program.ts';
import type { Rig } from './rig.ts';
import type { Turn } from './turn.ts';

/** Starts a loop called `a` and waits for its first turn. */
export async function firstTurn(
  rig: Rig,
  ...options: readonly string[]
): Promise<{ readonly program: Program; readonly turn: Turn }> {
  const program = rig.ralph(['run', 'task', '--name', 'a', ...options, '--', ...rig.agent]);
  const turn = await rig.nextTurn();
  await rig.loop('a').journals('run.started');
  return { program, turn };
}

/** Claims to be done, and exits. */
export async function claims(turn: Turn): Promise<void> {
  await turn.prints('<promise>DONE</promise>\n');
  await turn.exits(0);
}
