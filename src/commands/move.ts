import { existsSync } from 'node:fs';
import { realPath } from '../files/paths.ts';
import { keep, kept } from '../store/kept-environment.ts';
import { movedPath, movedSpec } from '../store/moved.ts';
import { takeLock } from '../store/lock.ts';
import { thisProcess } from '../store/lock-owner.ts';
import { startersEnvironment } from '../store/run-environment.ts';
import { registeredIn, reserve, unreserve } from '../store/registry.ts';
import { readSpec, writeSpec } from '../store/spec.ts';
import { LoopFolder } from '../store/store.ts';
import { UserError } from '../user-error.ts';

export interface Moved {
  /** The names of the loops that belong to the new workspace now. */
  readonly taken: readonly string[];
  /** Why others were left behind. */
  readonly left: readonly string[];
}

/** Takes the loops of a workspace that was moved along to its new place. */
export async function moveLoops(old: string, to: string): Promise<Moved> {
  const from = realPath(old);
  const loops = registeredIn(from);
  if (loops.length === 0)
    throw new UserError(`no loops of ${from} are known; list those of all workspaces with: ralph ls --all`);
  if (existsSync(from))
    throw new UserError(
      `${from} still exists, so its loops belong there; ralph move takes along the loops of a workspace that was moved`,
    );
  const [taken, left]: [string[], string[]] = [[], []];
  for (const loop of loops) {
    // oxlint-disable-next-line no-await-in-loop -- in the order of their names
    const problem = await moveLoop(new LoopFolder(loop), to);
    if (problem === null) taken.push(loop.name);
    else left.push(problem);
  }
  return { taken, left };
}

async function moveLoop(folder: LoopFolder, workspace: string): Promise<string | null> {
  const { id, name } = folder;
  const lock = await takeLock(folder.lock, thisProcess());
  if (!lock.taken) return `"${name}" is running (process ${lock.owner?.pid ?? 'unknown'})`;
  try {
    // A move that was killed before has reserved the name already.
    const isOwn = registeredIn(workspace).some((other) => other.id === id);
    if (!isOwn && !reserve({ id, name, workspace })) return `"${name}" is the name of another loop here`;
    const spec = movedSpec(readSpec(folder.spec), folder.workspace, workspace);
    const environment = kept(id);
    if (environment !== null) {
      const argv = environment.argv.map((word) => movedPath(word, folder.workspace, workspace));
      keep(id, { ...environment, argv });
    }
    writeSpec(folder.spec, spec, startersEnvironment(process.env));
    unreserve(folder);
    return null;
  } catch (error) {
    return `"${name}" cannot be moved: ${error instanceof Error ? error.message : String(error)}`;
  } finally {
    lock.release();
  }
}
