/**
 * The loop that a server of tools works for, if its client is an agent inside a run.
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
import { findFolder, readLoopAt } from '../home/read-loop.ts';
import { RUN_MARKER, runMarker } from '../home/run-environment.ts';
import { STATE, stateFolder } from '../home/state-folder.ts';
import { WorkspaceFolder, LoopFolder } from '../home/home.ts';
import { UserError } from '../user-error.ts';
import { loopOfRun } from './find.ts';

export interface OwnLoop {
  readonly name: string;
  /** The workspace that the loop is registered in; in a worktree the agent works elsewhere. */
  readonly workspace: string;
  readonly workspaceFolder: WorkspaceFolder;
  /** Where a sandbox asks its owner; null outside of a sandbox. */
  readonly requests: string | null;
  /** The marker of the run; empty if it is not known. */
  readonly run: string;
}

/** The loop of this process's run, or the loop whose workspace folder is `given`; null outside of a run. Completes `env`. */
export function ownLoop(given: string | null, env: NodeJS.ProcessEnv): OwnLoop | null {
  completeEnvironment(env);
  const named = given === null ? null : workspaceFolderAt(given);
  const place = named?.path ?? env[LOOP_FOLDER] ?? null;
  if (place !== null && isHidden(place, env)) return inSandbox(workspaceFolderAt(place), env);
  const spec = loopOfRun(env);
  const own = spec === null ? null : new LoopFolder(spec);
  if (named === null) return own === null ? null : ownOf(own, env);
  const folder = findFolder(named.workspace, basename(named.path));
  if (folder === null)
    throw new UserError(
      `--loop: no loop has the folder ${named.path}; give the folder in .ralph/loops of a loop`,
    );
  if (own !== null && own.id !== folder.id)
    throw new UserError(`--loop: this run belongs to the loop "${own.name}", not to "${folder.name}"`);
  if (own === null) actForRun(folder, env);
  return ownOf(folder, env);
}

function ownOf({ name, workspace, workspaceFolder }: LoopFolder, env: NodeJS.ProcessEnv): OwnLoop {
  return { name, workspace, workspaceFolder, requests: null, run: env[RUN_MARKER] ?? '' };
}

function inSandbox(workspaceFolder: WorkspaceFolder, env: NodeJS.ProcessEnv): OwnLoop {
  return {
    name: basename(workspaceFolder.path),
    workspace: workspaceFolder.workspace,
    workspaceFolder,
    requests: env[SANDBOX] || requestsOf(workspaceFolder.path),
    run: env[RUN_MARKER] ?? '',
  };
}

/** Whether the state is hidden, as in a sandbox, and the workspace folder has a folder for requests. */
function isHidden(workspaceFolder: string, env: NodeJS.ProcessEnv): boolean {
  if (existsSync(join(stateFolder(env), 'empty'))) return false;
  return (env[SANDBOX] ?? '') !== '' || existsSync(requestsOf(workspaceFolder));
}

function requestsOf(workspaceFolder: string): string {
  return join(workspaceFolder, 'requests');
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

function workspaceFolderAt(path: string): WorkspaceFolder {
  const folder = resolve(path);
  const loops = dirname(folder);
  const isWorkspaceFolder = basename(loops) === 'loops' && basename(dirname(loops)) === '.ralph';
  if (!isWorkspaceFolder || statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new UserError(`--loop: ${path} is not the folder of a loop, such as .ralph/loops/NAME`);
  const workspace = realpathSync(dirname(dirname(loops)));
  return new WorkspaceFolder(workspace, basename(folder));
}
