import { existsSync, realpathSync } from 'node:fs';
import type { Performer } from '../hosts/function-call.ts';
import { takeLock } from '../store/lock.ts';
import { thisProcess } from '../store/lock-owner.ts';
import { unknownLoop } from '../store/read-loop.ts';
import { readSpec, writeSpec, type Spec } from '../store/spec.ts';
import { loopFolder } from '../store/store.ts';
import { UserError } from '../user-error.ts';
import { newId } from './create-loop.ts';
import { OwnedLoop } from './owner.ts';
import { alreadyOwned, asUserError } from './refusals.ts';
import { environmentFor, keepEnvironment, registerLoop, type NewOwner } from './loop-environment.ts';

/** Becomes the owner of a loop that has none, to continue it. */
export async function takeOver(
  workspace: string,
  name: string,
  owner: NewOwner,
  perform?: Performer,
): Promise<OwnedLoop> {
  const here = realpathSync(workspace);
  const folder = loopFolder(here, name);
  if (!existsSync(folder.journal)) throw unknownLoop(name, folder);
  const lock = await takeLock(folder.lock, thisProcess());
  if (!lock.taken) throw alreadyOwned(name, lock.owner?.pid ?? null);
  try {
    const written = readSpec(folder.spec);
    refuseOtherProgram(written, perform);
    const { env, argv, notes } = environmentFor(written, owner);
    const spec = {
      ...(here === written.workspace ? written : movedTo(here, written)),
      agent: { ...written.agent, argv },
    };
    if (spec.workspace !== written.workspace) writeSpec(folder.spec, spec, env);
    const warnings = keepEnvironment(spec, env);
    registerLoop(spec);
    return new OwnedLoop({
      spec,
      folder,
      env,
      notes: [...notes, ...warnings],
      release: lock.release,
      perform,
    });
  } catch (error) {
    lock.release();
    throw asUserError(error, folder.path);
  }
}

/** The spec of a loop whose workspace was moved or copied. A copy gets its own id: what runs for the original is not its. */
function movedTo(workspace: string, written: Spec): Spec {
  const isCopy = existsSync(loopFolder(written.workspace, written.name).journal);
  return { ...written, id: isCopy ? newId(written.name) : written.id, workspace };
}

/** Only the program that has the function can continue a loop whose agent is a function. */
function refuseOtherProgram({ name, agent }: Spec, perform: Performer | undefined): void {
  const isFunction = agent.argv.length === 0;
  if (isFunction && perform === undefined) {
    throw new UserError(
      `the agent of "${name}" is a function of the program that started it; continue it from there with: resumeLoop('${name}', { agent })`,
    );
  }
  if (!isFunction && perform !== undefined)
    throw new UserError(`the agent of "${name}" is a command; it cannot be replaced by a function`);
}
