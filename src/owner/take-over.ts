import { existsSync, realpathSync } from 'node:fs';
import { forgetRefusal } from '../home/background.ts';
import { lockWorkspaceFolder, makeWorkspaceFolder } from '../workspace/workspace-folder.ts';
import { takeLock } from '../home/lock.ts';
import { thisProcess } from '../home/lock-owner.ts';
import { journalProblem } from '../home/journal-problem.ts';
import { requireFolder, unknownLoop } from '../home/read-loop.ts';
import { isInSession, readSpec, type Spec } from '../home/spec.ts';
import { forgetTrouble } from '../home/trouble.ts';
import { UserError } from '../user-error.ts';
import type { AgentProgram } from './agent-host.ts';
import { OwnedLoop } from './owner.ts';
import { AlreadyOwned, asUserError } from './refusals.ts';
import { keepNoticesAgain } from './notice-targets.ts';
import { environmentFor, keepEnvironment, type NewOwner } from './loop-environment.ts';

/** Becomes the owner of a loop that has none, to continue it. */
export async function takeOver(
  workspace: string,
  name: string,
  owner: NewOwner,
  program: AgentProgram = {},
): Promise<OwnedLoop> {
  const folder = requireFolder(realpathSync(workspace), name);
  const problem = journalProblem(folder, null, null);
  if (problem !== null) throw new UserError(problem.message);
  if (!existsSync(folder.journal)) throw unknownLoop(folder.workspace, name);
  const lock = await takeLock(folder.lock, thisProcess());
  if (!lock.taken) throw new AlreadyOwned(name, lock.owner?.pid ?? null);
  let release = lock.release;
  try {
    const written = readSpec(folder.spec);
    // A loop in a session has no owner between its turns, so a lock during one step would protect nothing.
    if (isInSession(written)) makeWorkspaceFolder(folder.workspaceFolder);
    else {
      const releaseWorkspaceFolder = await lockWorkspaceFolder(folder.workspaceFolder);
      release = () => {
        releaseWorkspaceFolder();
        lock.release();
      };
    }
    refuseOtherProgram(written, program);
    const { env, argv, notes } = environmentFor(written, owner);
    const spec = { ...written, agent: { ...written.agent, argv } };
    // An owner in the background has no other environment than the kept one.
    const missing =
      owner.by === 'person' ? await keepNoticesAgain(spec, { ...owner.env, ...owner.given }) : [];
    if (owner.by === 'person') {
      keepEnvironment(spec, env);
      forgetTrouble(folder);
      forgetRefusal(folder.id);
    }
    return new OwnedLoop({ spec, folder, env, notes: [...notes, ...missing], release, ...program });
  } catch (error) {
    release();
    throw asUserError(error, folder.path);
  }
}

/** Only the program that has the function can continue a loop whose agent is a function. */
function refuseOtherProgram(spec: Spec, { perform }: AgentProgram): void {
  const { name, agent } = spec;
  if (isInSession(spec)) return;
  const isFunction = agent.argv.length === 0;
  if (isFunction && perform === undefined) {
    throw new UserError(
      `the agent of "${name}" is a function of the program that started it; continue it from there with: resumeLoop('${name}', { agent })`,
    );
  }
  if (!isFunction && perform !== undefined)
    throw new UserError(`the agent of "${name}" is a command; it cannot be replaced by a function`);
}
