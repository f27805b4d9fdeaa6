/**
 * The tmux window of a loop.
 *
 * 1. The window of an interactive agent is the agent's own terminal. Every other window runs a viewer: closing it, or the
 *    tmux server, does not disturb the loop.
 * 2. Showing a window twice gives one window. A window whose viewer has ended gets another one.
 * 3. The window of a loop that has ended or is paused is closed, at once or as soon as no client shows it any more.
 */
import { fileURLToPath } from 'node:url';
import type { Policy } from '../loop/policy.ts';
import { runAttached } from '../process/attached.ts';
import { savedEnvironment } from '../home/saved-environment.ts';
import { loopName } from '../loop/child-report.ts';
import { readLoopIn, readLoopOf } from '../home/read-loop.ts';
import type { Spec, TmuxWindow } from '../home/spec.ts';
import { STATE, stateFolder } from '../home/state-folder.ts';
import type { LoopFolder } from '../home/home.ts';
import { tmuxServerOf } from '../home/tmux-server.ts';
import { startInPane } from '../tmux/pane.ts';
import { attachEnvironment, TmuxError, tmuxProblem, together, type TmuxServer } from '../tmux/server.ts';
import * as windows from '../tmux/windows.ts';
import { UserError } from '../user-error.ts';
import { loopAt } from './find.ts';
import type { LoopRef } from './loops.ts';

/** A loop as far as its window is concerned. */
export interface Shown {
  readonly spec: Spec;
  readonly folder: LoopFolder;
  readonly state: { readonly policy: Pick<Policy, 'host'> };
}

/** Makes the window of a loop that should have one, and shows the loop in it. */
export async function showWindow({ spec, folder, state }: Shown): Promise<void> {
  if (spec.window === undefined) return;
  const server = tmuxServerOf(spec);
  await closeEarlier(server, spec);
  const { pane, isDead } = await windows.ensureWindow(server, { loop: spec.id, name: spec.name });
  if (!isDead || state.policy.host === 'tmux') return;
  await startInPane(server, pane, { argv: viewer(spec, folder), log: null, tag: `${spec.id}.viewer` });
}

/** The window of a loop, made again if it was closed while the loop runs; null if it has none. `problem` is why it was not made. */
export async function openWindow(
  ref: LoopRef,
): Promise<{ readonly window: WindowPlace | null; readonly problem: string | null }> {
  const loop = loopAt(ref);
  const found = await windowOf(loop.spec);
  if (found !== null || loop.owner === null) return { window: found, problem: null };
  let problem: string | null = null;
  try {
    await showWindow(loop);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    problem = error.message;
  }
  return { window: await windowOf(loop.spec), problem };
}

async function windowOf(spec: Spec): Promise<WindowPlace | null> {
  if (spec.window === undefined) return null;
  try {
    const found = await windows.findWindow(tmuxServerOf(spec), spec.id);
    return found === null ? null : { session: found.session, window: found.window };
  } catch (error) {
    if (error instanceof TmuxError) return null;
    throw error;
  }
}

export interface WindowPlace {
  readonly session: string;
  /** Its id: `@3`. */
  readonly window: string;
}

/** Closes the window of a loop that no process drives now, unless a client shows it. */
export async function closeUnseenWindow(spec: Spec): Promise<void> {
  if (spec.window === undefined) return;
  const found = await windows.findWindow(tmuxServerOf(spec), spec.id);
  if (found?.isSeen === false) await closeWindow(spec);
}

/** Closes the window of a loop that is over. */
export async function closeWindow(spec: Spec): Promise<void> {
  if (spec.window === undefined) return;
  try {
    await windows.closeWindow(tmuxServerOf(spec), spec.id);
  } catch (error) {
    // Without tmux there is no window.
    if (!(error instanceof TmuxError)) throw error;
  }
}

/** Why a window cannot be made; null if it can. */
export async function problemWithWindow(window: TmuxWindow): Promise<WindowProblem | null> {
  try {
    const problem = await tmuxProblem();
    if (problem === null) await tmuxServerOf({ window }).isRunning();
    return problem === null ? null : { isUnusable: true, message: problem.message };
  } catch (error) {
    if (!(error instanceof TmuxError)) throw error;
    return { isUnusable: false, message: error.message };
  }
}

export interface WindowProblem {
  /** tmux is missing or too old: there is no window on this machine at all. */
  readonly isUnusable: boolean;
  readonly message: string;
}

/** Shows the window of a loop on our terminal until the user detaches, and returns tmux's exit code. */
export async function attachWindow(ref: LoopRef, place: WindowPlace): Promise<number> {
  const { spec, folder } = loopAt(ref);
  const code = await runClient(spec, place);
  const { state, owner } = readLoopIn(folder.path);
  if (state.outcome !== null || (state.control.paused && owner === null)) await closeUnseenWindow(spec);
  return code;
}

/** The client has a session of its own: another client keeps its current window, and nothing is left when this one goes. */
async function runClient(spec: Spec, { session, window }: WindowPlace): Promise<number> {
  const server = tmuxServerOf(spec);
  const own = `attached-${process.pid}`;
  const argv = server.command(
    ...together(
      ['new-session', '-t', `=${session}`, '-s', own],
      ['set-option', '-t', `=${own}:`, 'destroy-unattached', 'on'],
      ['select-window', '-t', `=${own}:${window}`],
    ),
  );
  const code = await runAttached(argv, { cwd: '/', env: attachEnvironment(process.env) });
  return code ?? 3;
}

/** The command that shows a loop in its window, in colours unless its user wants none. */
function viewer({ id }: Spec, { path }: LoopFolder): readonly string[] {
  const main = fileURLToPath(new URL('../cli/main.js', import.meta.url));
  const isPlain = savedEnvironment(id)?.env['NO_COLOR'] !== undefined;
  const env = ['/usr/bin/env', `${STATE}=${stateFolder()}`, ...(isPlain ? ['NO_COLOR=1'] : [])];
  return [...env, process.execPath, main, 'attach', '--view', path];
}

/** Closes the windows that were left by loops that have ended or are archived: those of this name, and those that no client shows. */
async function closeEarlier(server: TmuxServer, { id, name }: Spec): Promise<void> {
  const earlier = (await windows.listWindows(server)).filter(
    ({ loop, isDead, isSeen }) =>
      isDead &&
      loop !== id &&
      (!isSeen || loopName(loop) === name) &&
      readLoopOf(loop)?.state.outcome !== null,
  );
  await Promise.all(earlier.map(({ loop }) => windows.closeWindow(server, loop)));
}
