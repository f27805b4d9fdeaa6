import { existsSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { realPath } from '../files/files.ts';
import { workspaceMovedTo } from '../home/find-workspace.ts';
import { saveEnvironment, savedEnvironment } from '../home/saved-environment.ts';
import { movedPath, movedSpec } from '../home/moved.ts';
import { takeLock } from '../home/lock.ts';
import { thisProcess } from '../home/lock-owner.ts';
import { startersEnvironment } from '../home/run-environment.ts';
import { registeredIn, reserve, unreserve } from '../home/registry.ts';
import { readSpec, writeSpec } from '../home/spec.ts';
import { LoopFolder } from '../home/home.ts';
import { UserError } from '../user-error.ts';

export interface Moved {
  /** The new workspace. */
  readonly to: string;
  /** The names of the loops that belong to the new workspace now. */
  readonly taken: readonly string[];
  /** Why others were left behind. */
  readonly left: readonly string[];
}

/** Takes the loops of a workspace that was moved along to its new place, which is `here` or a folder above it. */
export async function moveLoops(old: string, here: string): Promise<Moved> {
  const from = realPath(old);
  const loops = registeredIn(from);
  if (loops.length === 0)
    throw new UserError(`no loops of ${from} are known; list those of all workspaces with: ralph ls --all`);
  if (existsSync(from))
    throw new UserError(
      `${from} still exists, so its loops belong there; ralph move takes along the loops of a workspace that was moved`,
    );
  const to = workspaceMovedTo(here, loops);
  const [taken, left]: [string[], string[]] = [[], []];
  for (const loop of loops) {
    // oxlint-disable-next-line no-await-in-loop -- in the order of their names
    const problem = await moveLoop(new LoopFolder(loop), to);
    if (problem === null) taken.push(loop.name);
    else left.push(problem);
  }
  return { to, taken, left };
}

async function moveLoop(folder: LoopFolder, workspace: string): Promise<string | null> {
  const { id, name, task } = folder;
  const lock = await takeLock(folder.lock, thisProcess());
  if (!lock.taken) return `"${name}" is running (process ${lock.owner?.pid ?? 'unknown'})`;
  try {
    // A move that was killed before has reserved the name already.
    const isOwn = registeredIn(workspace).some((other) => other.id === id);
    if (!isOwn && !reserve({ id, name, workspace, ...(task === undefined ? {} : { task }) }))
      return `"${name}" is the name of another loop here`;
    const spec = movedSpec(readSpec(folder.spec), folder.workspace, workspace, (file) =>
      movedFile(file, folder.workspace, workspace),
    );
    const environment = savedEnvironment(id);
    if (environment !== null) {
      const argv = environment.argv.map((word) => movedPath(word, folder.workspace, workspace));
      saveEnvironment(id, { ...environment, argv });
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

/** A file that is gone, but lies where it was as seen from the workspace, was moved with it: a repository around it, for example. */
function movedFile(file: string, from: string, to: string): string {
  const real = realPath(file);
  const moved = movedPath(real, from, to);
  if (moved !== real || existsSync(file)) return moved === real ? file : moved;
  const beside = resolve(to, relative(from, real));
  return existsSync(beside) ? beside : file;
}
