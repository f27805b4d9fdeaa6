/** What a new loop should know about unfinished loops on the same files whose owner is gone. */
import { isInRepository } from '../git/fingerprint.ts';
import { orphanOf } from '../recovery/orphan.ts';
import { readUnfinishedLoops, type LoopReading } from '../store/read-loop.ts';
import { isInSession, treeOf, type PromptSource } from '../store/spec.ts';
import { UserError } from '../user-error.ts';

/** Refuses a loop on files that an orphaned agent works on; returns notes about crashed loops with the same prompt. */
export function refuseOrphans(request: {
  readonly workspace: string;
  readonly name: string | null;
  readonly prompt: PromptSource;
  readonly worktree?: boolean;
  readonly parent: unknown;
}): readonly string[] {
  const { workspace, name, prompt } = request;
  // An orphaned agent may start a loop in its own folder. A loop of the same name is judged where the name is taken.
  const others = readUnfinishedLoops(workspace).filter(
    ({ spec, owner }) => owner === null && spec.name !== name && !isInSession(spec),
  );
  if (request.worktree !== true && request.parent === null) {
    for (const loop of others) {
      const pid = treeOf(loop.spec) === workspace ? orphanOf(loop) : null;
      if (pid !== null) throw stillWorking(loop.spec.name, pid, workspace);
    }
  }
  return others.filter((loop) => isCrash(loop, prompt)).map(({ spec }) => crashed(spec.name));
}

function stillWorking(name: string, pid: number, workspace: string): UserError {
  const instead = isInRepository(workspace) ? ', or give the new loop its own files with: --worktree' : '';
  return new UserError(
    `the agent of the loop "${name}" (process ${pid}) still works on these files, although the Ralph process that started it is gone; reattach to it with: ralph resume ${name}, stop it with: ralph stop ${name} --now${instead}`,
  );
}

function isCrash({ spec, state }: LoopReading, prompt: PromptSource): boolean {
  return !state.control.paused && JSON.stringify(spec.prompt) === JSON.stringify(prompt);
}

function crashed(name: string): string {
  return `the loop ${name} has the same prompt and did not finish; to continue it instead, use: ralph resume ${name}`;
}
