import { removeWorktree, UnsavedWork } from '../commands/remove-worktree.ts';
import { takeOver } from '../owner/take-over.ts';
import { AlreadyOwned } from '../owner/refusals.ts';
import { dismiss } from '../store/background.ts';
import { deliver } from '../store/deliver.ts';
import { killOwner } from '../store/kill-owner.ts';
import { readLoopAt, readLoops, type LoopReading } from '../store/read-loop.ts';
import { startersEnvironment } from '../store/run-environment.ts';
import { UserError } from '../user-error.ts';
import { closeWindow } from '../views/window.ts';
import { untilRest } from '../views/until-rest.ts';
import { describeWork } from '../worktree/worktree.ts';
import { explainError } from './errors.ts';
import { findLoop, refuseUnreadable } from './loops.ts';
import { print, warn } from './print.ts';
import { wakeDaemon } from './wake-daemon.ts';
import { listedWorkspace, workspaceOf } from './workspace.ts';

/** `ralph kill`: ends a loop and its agent now, and returns when both are gone. */
export async function kill(name: string | null, options: KillOptions): Promise<number> {
  if ((name === null) === (options.all !== true))
    throw new UserError('name the loop to kill, or kill all loops of the workspace with: --all');
  const loops = name === null ? unfinished(options) : [findLoop(workspaceOf(options), name)];
  if (loops.length === 0) warn('no loops to kill in this workspace\n');
  const ended = await Promise.allSettled(loops.map((loop) => killOne(loop, options)));
  const codes = ended.map((one) => (one.status === 'rejected' ? explainError(one.reason) : 0));
  return Math.max(0, ...codes);
}

export interface KillOptions {
  readonly all?: boolean;
  readonly rmWorktree?: boolean;
  readonly forceDirty?: boolean;
  readonly cwd?: string;
}

function unfinished(options: KillOptions): readonly LoopReading[] {
  return readLoops(listedWorkspace(options)).filter(({ state }) => state.outcome === null);
}

async function killOne(loop: LoopReading, options: KillOptions): Promise<void> {
  const { name } = loop.spec;
  if (loop.state.outcome === null) {
    await end(loop);
    print(`killed ${name}\n`);
  } else warn(`ralph: warning: loop ${name} has already ended\n`);
  await closeWindow(loop.spec);
  if (options.rmWorktree === true && loop.spec.worktree !== undefined)
    await removeTree(loop, options.forceDirty === true);
}

/** Ends a loop through its owner, or becomes the owner of a loop that has none. */
async function end(found: LoopReading): Promise<void> {
  for (let loop: LoopReading | null = found; loop !== null && loop.state.outcome === null;) {
    refuseUnreadable(loop);
    // oxlint-disable-next-line no-await-in-loop -- repeats only if the owner changes meanwhile
    await (loop.owner === null ? endOrphan(loop) : endThroughOwner(loop));
    loop = readLoopAt(loop.folder);
  }
}

async function endThroughOwner(loop: LoopReading): Promise<void> {
  const delivery = await deliver(loop, { type: 'stop', now: true, by: 'person' });
  if (delivery !== 'unanswered') {
    const timeout = AbortSignal.timeout(loop.state.policy.timeouts.killGraceMs + REST_MS);
    // A loop that has just ended rejects it.
    await untilRest(loop.folder, timeout);
    if (!timeout.aborted) return;
  }
  await killOwnerOf(loop);
}

/** More than an owner takes to end an agent and to clean up, on a busy machine. */
const REST_MS = 30_000;

/** Kills an owner that does not respond. Its agents keep running; this command ends that of the loop, and the next daemon takes over the others. */
async function killOwnerOf({ spec, folder, owner }: LoopReading): Promise<void> {
  if (owner === null) return;
  if (spec.agent.argv.length === 0)
    throw new UserError(
      `the program that owns loop ${spec.name} (process ${owner}) does not respond, and its agent is a function of it; end that program`,
      3,
    );
  // The next daemon would take the loop over before this command can.
  dismiss(spec.id);
  await killOwner(folder.lock, owner);
  warn(`ralph: warning: killed the owner of loop ${spec.name} (process ${owner}), which did not respond\n`);
  await wakeDaemon();
}

async function endOrphan({ spec }: LoopReading): Promise<void> {
  try {
    const loop = await takeOver(spec.workspace, spec.name, {
      by: 'person',
      env: startersEnvironment(process.env),
    });
    loop.receive({ type: 'stop', now: true, by: 'person' });
    const stop = await loop.drive();
    if (stop.why === 'lost') throw new UserError(stop.error.message, 3, { cause: stop.error });
  } catch (error) {
    // Another process has taken it over meanwhile.
    if (!(error instanceof AlreadyOwned)) throw error;
  }
}

async function removeTree({ folder, spec }: LoopReading, force: boolean): Promise<void> {
  const loop = readLoopAt(folder);
  if (loop === null || spec.worktree === undefined) return;
  const { path, branch } = spec.worktree;
  try {
    const removed = await removeWorktree(loop, force, startersEnvironment(process.env));
    if (removed !== null) print(`removed ${removed.what}\n`);
  } catch (error) {
    if (!(error instanceof UnsavedWork)) throw error;
    const { changes } = error.work;
    const work = changes > 0 ? `${changes} uncommitted change(s)` : describeWork(error.work);
    warn(
      `ralph: warning: worktree has ${work}; kept ${path} (branch ${branch})\n` +
        `Merge it with: ralph worktree merge ${spec.name}, or discard it with: ralph kill ${spec.name} --rm-worktree --force-dirty\n`,
    );
  }
}
