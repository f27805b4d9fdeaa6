import type { Program, Running } from './program.ts';
import type { Rig } from './rig.ts';
import type { Turn } from './turn.ts';

/** Runs a loop called `a` inside the test's process and waits for its first turn. */
export function firstTurn(rig: Rig, ...options: readonly string[]): Promise<Started<Running>> {
  return begun(rig, rig.runs(loop(rig, options)));
}

/** The same in a process of its own, which can be killed. */
export function firstTurnOfProcess(rig: Rig, ...options: readonly string[]): Promise<Started<Program>> {
  return begun(rig, rig.ralph(loop(rig, options)));
}

interface Started<Command> {
  readonly program: Command;
  readonly turn: Turn;
}

function loop(rig: Rig, options: readonly string[]): readonly string[] {
  return ['run', 'task', '--name', 'a', ...options, '--', ...rig.agent];
}

async function begun<Command>(rig: Rig, program: Command): Promise<Started<Command>> {
  const turn = await rig.nextTurn();
  await rig.loop('a').journals('run.started');
  return { program, turn };
}

/** Claims to be done, and exits. */
export async function claims(turn: Turn): Promise<void> {
  await turn.prints('<promise>DONE</promise>\n');
  await turn.exits(0);
}
