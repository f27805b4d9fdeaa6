/**
 * The loop that this server works for, if its client is an agent inside a run.
 *
 * 1. An agent may start its servers with an emptied environment (Codex does). What Ralph has set for the run is then read from
 *    the agent's own process, or `--loop` names the loop.
 * 2. Outside of a sandbox the loop is one that the state knows: an environment or a folder alone makes no loop. Inside, the
 *    state is hidden, and the owner of the loop judges every request.
 */
import { existsSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { processes } from '../process/process.ts';
import { openRun } from '../loop/run.ts';
import { enclosingRuns, loopOf } from '../store/enclosing-runs.ts';
import { findFolder, readLoopAt } from '../store/read-loop.ts';
import { RUN_MARKER, runMarker } from '../store/run-environment.ts';
import { STATE, stateFolder } from '../store/state-folder.ts';
import { Desk, LoopFolder } from '../store/store.ts';
import { UserError } from '../user-error.ts';

export interface OwnLoop {
  readonly name: string;
  /** The workspace that the loop is registered in; in a worktree the agent works elsewhere. */
  readonly workspace: string;
  readonly desk: Desk;
  readonly isSandboxed: boolean;
}

/** The loop of this process's run, or the loop whose desk is `given`; null outside of a run. Completes `env`. */
export function ownLoop(given: string | null, env: NodeJS.ProcessEnv): OwnLoop | null {
  completeEnvironment(env);
  const named = given === null ? null : deskAt(given);
  const place = named?.path ?? env[LOOP_FOLDER] ?? null;
  if (place !== null && isHidden(place, env)) return inSandbox(deskAt(place), env);
  const [run] = enclosingRuns(env);
  const spec = run === undefined ? null : loopOf(run);
  const own = spec === null ? null : new LoopFolder(spec);
  if (named === null) return own === null ? null : ownOf(own);
  const folder = findFolder(named.workspace, basename(named.path));
  if (folder === null)
    throw new UserError(
      `--loop: no loop has the folder ${named.path}; give the folder in .ralph/loops of a loop`,
    );
  if (own !== null && own.id !== folder.id)
    throw new UserError(`--loop: this run belongs to the loop "${own.name}", not to "${folder.name}"`);
  if (own === null) actForRun(folder, env);
  return ownOf(folder);
}

function ownOf({ name, workspace, desk }: LoopFolder): OwnLoop {
  return { name, workspace, desk, isSandboxed: false };
}

function inSandbox(desk: Desk, env: NodeJS.ProcessEnv): OwnLoop {
  env[SANDBOX] ??= requestsOf(desk.path);
  return { name: basename(desk.path), workspace: desk.workspace, desk, isSandboxed: true };
}

/** Whether the state is hidden, as in a sandbox, and the desk has a folder for requests. */
function isHidden(desk: string, env: NodeJS.ProcessEnv): boolean {
  if (existsSync(join(stateFolder(env), 'empty'))) return false;
  return (env[SANDBOX] ?? '') !== '' || existsSync(requestsOf(desk));
}

function requestsOf(desk: string): string {
  return join(desk, 'requests');
}

const SANDBOX = 'RALPH_SANDBOX';
const LOOP_FOLDER = 'RALPH_LOOP_FOLDER';

/** Sets what Ralph has set for the run and the agent has not passed on. */
function completeEnvironment(env: NodeJS.ProcessEnv): void {
  if (env[RUN_MARKER] !== undefined) return;
  const agent = processes.ancestors(process.pid).find((one) => one.variable(RUN_MARKER) !== null);
  for (const name of OF_RUN) {
    const value = agent?.variable(name) ?? null;
    if (value !== null) env[name] ??= value;
  }
}

/** The variables of the run, and those that say where the state is. */
const OF_RUN = [RUN_MARKER, LOOP_FOLDER, SANDBOX, STATE, 'XDG_STATE_HOME'];

/** Makes this process part of the run that the loop has now, so that loops which it starts are children of it. */
function actForRun(folder: LoopFolder, env: NodeJS.ProcessEnv): void {
  const loop = readLoopAt(folder);
  const run = loop === null ? null : openRun(loop.state);
  if (loop === null || run === null) return;
  const { name, value } = runMarker(loop.spec, run.id);
  env[name] = value;
}

function deskAt(path: string): Desk {
  const folder = resolve(path);
  const loops = dirname(folder);
  const isDesk = basename(loops) === 'loops' && basename(dirname(loops)) === '.ralph';
  if (!isDesk || statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new UserError(`--loop: ${path} is not the folder of a loop, such as .ralph/loops/NAME`);
  const workspace = realpathSync(dirname(dirname(loops)));
  return new Desk(workspace, basename(folder));
}
