/** From inside a run, only loops that the run's own loop has started can be changed. `cli/from-inside.ts` has the commands. */
import { descendsFrom, enclosingRuns, loopOf, type EnclosingRun } from '../store/enclosing-runs.ts';
import { readLoop, type LoopReading } from '../store/read-loop.ts';
import type { Spec } from '../store/spec.ts';
import { UserError } from '../user-error.ts';

/** Throws if this process works for a run whose loop has not started this one; `what` is the command or the call. */
export function refuseChange(
  what: string,
  spec: Spec,
  runs: readonly EnclosingRun[] = enclosingRuns(),
): void {
  const stranger = runs.find((run) => !descendsFrom(spec, run));
  if (stranger === undefined) return;
  const own = loopOf(stranger);
  const why =
    own === null
      ? `the loop of this run cannot be read, so "${spec.name}" is not known to be a child of it`
      : own.id === spec.id
        ? `"${spec.name}" is the loop of this run`
        : `"${spec.name}" is not a child loop of "${own.name}"`;
  throw refusal(what, `${why}, and an agent can change only child loops that its loop has started`);
}

export function refusal(what: string, why: string): UserError {
  return new UserError(
    `"${what}" is refused inside a run: ${why}\n` +
      'Continue with the task. If the change is needed, say so in your answer: a person can run the command.',
  );
}

/** Throws if a new loop of this name would replace a loop that cannot be changed from here. */
export function refuseReplacing(
  workspace: string,
  name: string,
  loops?: readonly Pick<EnclosingRun, 'loop'>[],
): void {
  const earlier = existing(workspace, name);
  if (earlier === null || (loops ?? enclosingRuns()).every((one) => descendsFrom(earlier.spec, one))) return;
  throw new UserError(
    `a new loop named "${name}" would replace the loop "${name}", which this run has not started\n` +
      'Choose another name, or start the loop without one.',
  );
}

function existing(workspace: string, name: string): LoopReading | null {
  try {
    return readLoop(workspace, name);
  } catch (error) {
    // There is none; creating the loop finds what is wrong with its name.
    if (error instanceof UserError) return null;
    throw error;
  }
}
