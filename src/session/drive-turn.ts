/**
 * One step of a loop inside a session: takes the lock, drives the engine until the session has to act, and leaves.
 *
 * 1. A step never waits longer than the delay before a prompt. It lets the session go instead.
 * 2. A process that has to end leaves its steps, and the next turn repeats what they had not finished.
 */
import type { EngineStop } from '../engine/engine.ts';
import type { TurnOutput } from '../hosts/session.ts';
import type { Effect } from '../loop/effect.ts';
import type { LoopState } from '../loop/state.ts';
import type { NewOwner } from '../owner/loop-environment.ts';
import type { OwnedLoop } from '../owner/owner.ts';
import { AlreadyOwned } from '../owner/refusals.ts';
import { takeOver } from '../owner/take-over.ts';
import { savedEnvironment } from '../home/saved-environment.ts';
import { startersEnvironment } from '../home/run-environment.ts';
import type { LoopFolder } from '../home/home.ts';
import { UserError } from '../user-error.ts';
import { turnOutput } from './turn-output.ts';
import type { FinishedTurn } from './turn.ts';

/** Takes the lock for one step; null if another process takes this step. */
export async function takeTurn(folder: LoopFolder, turns: Turns): Promise<OwnedLoop | null> {
  const { id, workspace, name } = folder;
  // The environment of the start is kept until the loop ends.
  const owner: NewOwner =
    savedEnvironment(id) === null
      ? { by: 'person', env: startersEnvironment(process.env) }
      : { by: 'background' };
  try {
    return await takeOver(workspace, name, owner, { turns });
  } catch (error) {
    if (error instanceof AlreadyOwned) return null;
    // Another process has ended the loop in between.
    if (owner.by === 'background' && savedEnvironment(id) === null) return takeTurn(folder, turns);
    throw error;
  }
}

/** The finished turn on its way to a run, and the prompt on its way to the session. */
export class Turns {
  prompt: string | null = null;
  /** Called when there is a prompt. */
  onPrompt: () => void = () => {};
  /** Called when a run has the turn. */
  readonly taken: () => void;
  #turn: TurnOutput | null;

  constructor(turn: FinishedTurn | null, taken: () => void = () => {}) {
    this.taken = taken;
    this.#turn = turn === null ? null : turnOutput(turn);
  }

  get hasTurn(): boolean {
    return this.#turn !== null;
  }

  take(): TurnOutput | null {
    const turn = this.#turn;
    this.#turn = null;
    return turn;
  }

  prompted(prompt: string): void {
    this.prompt = prompt;
    this.onPrompt();
  }
}

/**
 * Leaves the steps that this process takes and ends their checks, which the next turn repeats; false if there are none. For a
 * process that has to end.
 */
export function leaveSteps(): boolean {
  for (const loop of driven) loop.leave();
  return driven.size > 0;
}

const driven = new Set<OwnedLoop>();

/** Drives the loop until the session has to act. */
export async function driveOnce(
  loop: OwnedLoop,
  turns: Turns,
  turn: FinishedTurn | null,
  checking?: (checks: readonly string[]) => void,
): Promise<EngineStop> {
  let tell = checking;
  const leave = (): void => loop.leave();
  turns.onPrompt = leave;
  driven.add(loop);
  const driving = loop.drive({
    began(effect) {
      if (isLong(effect, loop.state)) leave();
      if (effect.type !== 'check' || tell === undefined) return;
      tell(loop.state.policy.checks.commands.map(({ command }) => command));
      tell = undefined;
    },
    appended(event) {
      // A host program cannot continue a session that an error has ended.
      if (event.type === 'run.ended' && turn?.error !== undefined) leave();
    },
  });
  const stop = await driving.finally(() => driven.delete(loop));
  if (stop.why === 'lost') throw new UserError(stop.error.message, 3, { cause: stop.error });
  return stop;
}

/** Whether a step would wait for something else than the delay before a prompt. The time of a loop is never set back. */
function isLong(effect: Effect, { policy: { delay }, now }: LoopState): boolean {
  if (effect.type !== 'wait') return effect.type === 'children';
  return effect.until === null || effect.until > Math.max(now, Date.now()) + delay.afterOkMs;
}
