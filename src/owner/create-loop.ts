/**
 * Creating a loop. Who creates it holds its lock, and owns it then or gives it away (`created-loop.ts`).
 *
 * 1. Every reason to refuse is checked before the name is taken, except whether the sandbox hides the agent: that
 *    depends on the loop's own folders, and is undone like every other failure (2).
 * 2. A loop that could not be created leaves nothing behind: no registration, no records, no worktree, no lock. Only one whose
 *    earlier creator died stays as that has left it, so that it can be started once the reason is gone.
 * 3. With its first event a loop is created. A process that dies after that leaves one that can be resumed.
 */
import { realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { PRIVATE_FILE, textOf } from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';
import { isInRepository, withoutGitLocation } from '../git/location.ts';
import { gitPath } from '../git/git.ts';
import { openJournal } from '../journal/file.ts';
import { admits } from '../loop/admit.ts';
import { evolve } from '../loop/evolve.ts';
import type { LoopEvent, StartRecord } from '../loop/event.ts';
import { INITIAL } from '../loop/initial.ts';
import type { Policy } from '../loop/policy.ts';
import type { LoopState } from '../loop/state.ts';
import { gitIn, userGit } from '../workspace/user-git.ts';
import { forgetRecords, notesOnOthers, recordStart, refuseCommit } from '../workspace/start.ts';
import { linkProgress, unlinkProgress } from '../workspace/aliases.ts';
import { takePlace, termsOfChild } from '../home/child-limits.ts';
import { withdrawChild } from '../home/children.ts';
import { openEntry, placeBelow, removeEntry, upperEntries } from '../home/family.ts';
import { forgetEnvironment } from '../home/saved-environment.ts';
import { prepareFolder } from '../workspace/workspace-folder.ts';
import { prepareState } from '../home/state-folder.ts';
import { keepNotices } from '../home/notice-secrets.ts';
import { tmuxServerOf } from '../home/tmux-server.ts';
import { tmuxProblem } from '../tmux/server.ts';
import {
  type FamilyPlace,
  type PromptSource,
  type Spec,
  type Worktree,
  treeOf,
  writeSpec,
} from '../home/spec.ts';
import type { LoopFolder } from '../home/home.ts';
import { forgetAsked, noteAsked } from '../home/unstarted.ts';
import { type AskedPlace, makeWorktree, placeFor, refuseWorktree } from '../workspace/worktree-place.ts';
import { wantsSetUp } from '../workspace/set-up.ts';
import { discard, inTree } from '../workspace/worktree.ts';
import { type ClaimedName, claimName, refuseSecond } from './claim-name.ts';
import { CreatedLoop } from './created-loop.ts';
import { forgetDeadCreations } from './dead-creations.ts';
import type { AgentProgram } from './agent-host.ts';
import { refusePlan, rememberPlan } from './loop-plan.ts';
import { checkUpperLimits } from './money.ts';
import { moveStaleMarkers } from './markers.ts';
import { keepTask, readOnce, withRealPaths } from './prompt-source.ts';
import { refuseEmptyPrompt, refuseMarkers, refuseOrphans, refuseSecrets } from './refuse-request.ts';
import type { LoopTargets } from './notice-targets.ts';
import { refuseWithoutSandbox } from '../sandbox/wrapper.ts';
import { UserError } from '../user-error.ts';
import { asUserError } from './refusals.ts';
import { refuseHiddenAgent } from './sandboxed-agent.ts';
import { keepEnvironment } from './loop-environment.ts';
import type { Environment } from '../process/process.ts';

export interface LoopRequest extends AgentProgram {
  /** Made by the caller: a request that is sent twice starts one loop. */
  readonly id?: string | undefined;
  readonly workspace: string;
  /** Null for a name that is made from the prompt. */
  readonly name: string | null;
  readonly policy: Policy;
  readonly agent: Spec['agent'];
  readonly prompt: PromptSource;
  /** Where the text of the prompt was read from, if from a file or a pipe; as the user named it. */
  readonly promptFrom?: string | undefined;
  readonly env: Environment;
  /** Where the loop belongs; absent means in the foreground. */
  readonly place?: Spec['place'] | undefined;
  /** Where the workspace itself is the task folder of document 000. */
  readonly task?: Spec['task'] | undefined;
  /** The id of the session that it is in. */
  readonly session?: string;
  /** The tmux window that shows the loop; absent for none. */
  readonly window?: Spec['window'] | undefined;
  readonly tags?: readonly string[] | undefined;
  /** Where its notices go. */
  readonly notices?: LoopTargets;
  /** Whether the loop works in its own git worktree. */
  readonly worktree?: boolean;
  readonly worktreeAt?: AskedPlace | undefined;
  /** Whether an unfinished loop of the same name may be archived. */
  readonly fresh: boolean;
  /** What the user should know before the loop begins. */
  readonly notes?: readonly string[];
  /** Whether an earlier process died while it created this loop: what was asked for is kept if this one fails. */
  readonly isAgain?: boolean;
  readonly parent: Spec['parent'];
  /** The run that it counts towards the budget of, if it is not the one of `parent`. */
  readonly paidBy?: Spec['parent'];
  /** Says what takes long before the loop begins. */
  readonly say?: (line: string) => void;
}

/** Creates a loop. Throws `AlreadyStarted` for a request that was sent before. */
export async function createLoop(asked: LoopRequest): Promise<CreatedLoop> {
  refuseSecond({ ...asked, workspace: realpathSync(asked.workspace) });
  const { request, notes: known } = await checkRequest(asked);
  const { workspace } = request;
  const notes = [...prepareState(workspace), ...known];
  await forgetDeadCreations();
  prepareWorkspace(workspace);
  const note = (folder: LoopFolder): void => noteRequest(request, folder);
  const [claimed] = await Promise.all([claimName({ ...request, note }, notes), findRepository(request)]);
  const again = (): void => {
    note(claimed.folder);
    claimed.release();
  };
  const undo: (() => void | Promise<void>)[] = [request.isAgain === true ? again : claimed.discard];
  try {
    return await writeLoop(request, claimed, notes, undo);
  } catch (error) {
    for (const step of undo.toReversed()) {
      // oxlint-disable-next-line no-await-in-loop -- in the reverse order of what was done
      await step();
    }
    throw asUserError(error, claimed.folder.path);
  }
}

/** The request as its loop is created, and what the user should know about it. Throws if it is refused; creates nothing. */
export async function checkRequest(
  asked: LoopRequest,
): Promise<{ readonly request: PlacedRequest; readonly notes: string[] }> {
  const workspace = realpathSync(asked.workspace);
  // In a worktree, variables such as GIT_DIR would lead git back to the user's own tree.
  const env = asked.worktree === true ? withoutGitLocation(asked.env) : asked.env;
  const prompt = readOnce(asked.prompt, asked.policy);
  const payer = asked.parent ?? asked.paidBy ?? null;
  const family = payer === null ? null : placeBelow(payer);
  const request = { ...asked, ...asChild(asked), workspace, env, prompt, family };
  if (family !== null) await checkUpperLimits(upperEntries(family), request.agent);
  await refuseRequest(request);
  const notes = [...(request.notes ?? []), ...refuseEmptyPrompt(request), ...refuseOrphans(request)];
  return { request, notes };
}

/** The terms of a child loop; every other loop keeps its own. */
function asChild({ parent, policy }: LoopRequest): Pick<LoopRequest, 'parent' | 'policy'> {
  if (parent === null) return { parent, policy };
  // Asked again when the place is taken; until then nothing is changed for a child that is refused.
  return termsOfChild(parent, policy);
}

async function refuseRequest(request: LoopRequest): Promise<void> {
  const { policy, workspace, env, perform } = request;
  if (policy.sandbox !== null && perform !== undefined)
    throw new UserError(
      'sandbox needs an agent that is a command: a function runs inside this program; drop sandbox, or name a command',
    );
  await refuseWithoutSandbox(policy, env, workspace);
  if (policy.host === 'tmux' && perform === undefined) await refuseWithoutTmux(request);
  if (request.worktree === true) await refuseWorktree(policy, workspace, env);
  await refuseCommit(policy, workspace, env, request.worktree === true);
  refuseSecrets(request);
  refuseMarkers(policy, workspace);
  // In a worktree the plan that is committed counts.
  if (request.worktree !== true) await refusePlan(policy, workspace);
}

/** An agent in a terminal needs tmux; a window that only shows a loop does not. */
async function refuseWithoutTmux({ window }: LoopRequest): Promise<void> {
  const problem = await tmuxProblem();
  if (problem !== null) throw new UserError(`an interactive agent needs tmux: ${problem.message}`);
  await tmuxServerOf(window === undefined ? {} : { window }).isRunning();
}

function prepareWorkspace(workspace: string): void {
  try {
    prepareFolder(workspace);
  } catch (error) {
    throw asUserError(error, join(workspace, '.ralph'));
  }
}

/** Lets git find the repository while the locks are taken. The record of the start needs its paths, which are kept in memory. */
async function findRepository({ policy, workspace, env, worktree }: LoopRequest): Promise<void> {
  if (worktree === true || !isInRepository(workspace)) return;
  // An error is reported where the record is made.
  await gitPath(userGit(policy, workspace, env), ['--absolute-git-dir']).catch(() => {});
}

/** A request with the place of the loop in its family. */
export interface PlacedRequest extends LoopRequest {
  readonly family: FamilyPlace | null;
}

/** Writes everything that a loop is made of, up to its first events; `undo` gets what takes it back. */
async function writeLoop(
  request: PlacedRequest,
  { name, folder, release, earlierProgress }: ClaimedName,
  notes: string[],
  undo: (() => void | Promise<void>)[],
): Promise<CreatedLoop> {
  const { workspace, env, perform, turns, post } = request;
  const { id } = folder;
  undo.push(() => forgetLoop(id, workspace));
  const { parent, family } = request;
  if (parent !== null) {
    undo.push(() => withdrawChild(parent.folder, folder));
    await takePlace(parent, folder);
  }
  if (family !== null) {
    undo.push(() => removeEntry(family, id));
    openEntry(family, id, request.policy);
  }
  const worktree = await makeTree(request, { id, name, workspace }, notes);
  if (worktree !== null) undo.push(() => discardQuietly(worktree, workspace, env));
  const policy = worktree === null ? request.policy : inTree(request.policy, workspace, worktree);
  const spec = specOf(request, { id, name, worktree });
  await refuseHiddenAgent({ spec, folder, env }, policy);

  const progress = earlierProgress === null ? null : textOf(earlierProgress);
  if (progress !== null) replaceFile(folder.earlierProgress, progress, { mode: PRIVATE_FILE });
  keepEnvironment(spec, env);
  keepNotices(id, request.notices?.secrets ?? {});
  writeSpec(folder.spec, spec, env);
  await rememberPlan({ spec, folder, env }, policy);
  moveStaleMarkers(folder.workspaceFolder, policy, [workspace, treeOf(spec)]);
  if (policy.taskFolder) keepTask(folder.workspaceFolder, spec.prompt);
  if (policy.progressLink) {
    undo.push(() => unlinkProgress(folder.workspaceFolder));
    linkProgress(folder.workspaceFolder);
  }
  notes.push(...notesOnOthers(spec, policy));
  // The record of the start is taken after the set-up: what a set-up leaves behind is not the loop's work.
  const recorded = wantsSetUp(spec, policy)
    ? null
    : await recordStart({ spec, folder, env, policy, hasRun: false, isNew: true, say: request.say });
  notes.push(...(recorded?.notes ?? []));

  // Without a record of the start there is no point in trying after every iteration.
  const hasRecord = recorded === null || recorded.isRecorded;
  const first = hasRecord ? policy : { ...policy, checkpoint: false };
  const state = writeFirstEvents(spec, folder, first, recorded?.start ?? null);
  forgetAsked(folder);
  return new CreatedLoop({ spec, folder, env, notes, release, perform, turns, post }, state);
}

function writeFirstEvents(
  { name, place }: Spec,
  folder: LoopFolder,
  policy: Policy,
  start: StartRecord | null,
): LoopState {
  const left = place === 'background' ? { left: true as const } : {};
  const journal = openJournal(folder.journal, undefined, undefined, { keepsCopy: false });
  try {
    const at = Date.now();
    const events: LoopEvent[] = [{ type: 'loop.created', at, name, policy, ...left }];
    if (start !== null) events.push({ type: 'start.recorded', at, ...start });
    let state = INITIAL;
    for (const [index, event] of events.entries()) {
      if (!admits(state, event)) throw new Error(`${event.type} is not admitted now`);
      journal.append(event, index);
      state = evolve(state, event);
    }
    journal.sync();
    return state;
  } finally {
    journal.close();
  }
}

/** What the process asks for, so that the loop can be started if this process dies. A function or a session dies with its program. */
function noteRequest(request: PlacedRequest, folder: LoopFolder): void {
  const { policy, env, perform, place, worktree, worktreeAt = {}, paidBy = null } = request;
  if (perform !== undefined || place === 'session') return;
  const spec = specOf(request, { id: folder.id, name: folder.name, worktree: null });
  keepEnvironment(spec, env);
  keepNotices(spec.id, request.notices?.secrets ?? {});
  const tree = worktree === true ? { worktree: worktreeAt } : {};
  noteAsked(folder, { spec, policy, paidBy, ...tree }, env);
}

async function makeTree(
  request: LoopRequest,
  owner: { readonly id: string; readonly name: string; readonly workspace: string },
  notes: string[],
): Promise<Worktree | null> {
  if (request.worktree !== true) return null;
  const { policy, env, worktreeAt } = request;
  const place = await placeFor(policy, owner.name, owner.workspace, env, worktreeAt);
  return makeWorktree(place, owner, notes);
}

export function specOf(
  request: PlacedRequest,
  { id, name, worktree }: { readonly id: string; readonly name: string; readonly worktree: Worktree | null },
): Spec {
  const { workspace, task, agent, prompt, parent, place, session, tags = [], policy, family } = request;
  const { window, notices } = request;
  return {
    version: 1,
    id,
    name,
    workspace,
    ...(task === undefined ? {} : { task }),
    created: new Date().toISOString(),
    agent: worktree === null ? agent : anchored(agent, workspace),
    prompt: policy.sandbox === null ? prompt : withRealPaths(prompt),
    ...(place === undefined ? {} : { place }),
    ...(session === undefined ? {} : { session }),
    ...(tags.length === 0 ? {} : { tags }),
    ...(notices === undefined || notices.targets.length === 0 ? {} : { notices: notices.targets }),
    ...(worktree === null ? {} : { worktree }),
    // An interactive agent cannot be without one.
    ...(window === undefined && policy.host !== 'tmux' ? {} : { window: window ?? {} }),
    parent,
    ...(family === null ? {} : { family }),
  };
}

/** A program that was given by a path relative to the workspace has to be found from the worktree too. */
function anchored(agent: Spec['agent'], workspace: string): Spec['agent'] {
  const [program = '', ...more] = agent.argv;
  return program.includes('/') ? { ...agent, argv: [resolve(workspace, program), ...more] } : agent;
}

async function forgetLoop(id: string, workspace: string): Promise<void> {
  forgetEnvironment(id);
  await forgetRecords({ id }, workspace);
}

async function discardQuietly(made: Worktree, workspace: string, env: Environment): Promise<void> {
  try {
    await discard(gitIn(workspace, env), made);
  } catch {
    // The next loop of this name finds the empty tree and replaces it.
  }
}
