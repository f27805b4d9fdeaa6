/** Becoming the owner of a loop: a new one, or one that somebody left. */
import { randomUUID } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, realpathSync, renameSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { archiveFolder, loopFolder, loopsFolder, LoopFolder } from '../store/store.ts';
import { takeLock } from '../store/lock.ts';
import { nameFrom, problemWithName } from '../store/names.ts';
import { register, unregister } from '../store/registry.ts';
import { forget, keep, kept } from '../store/kept-environment.ts';
import { readSpec, writeSpec, type PromptSource, type Spec, type Worktree } from '../store/spec.ts';
import { REDACTED, hasKey, hideKeys, secretIn } from '../store/secrets.ts';
import type { Performer } from '../hosts/function.ts';
import { GitError } from '../git/git.ts';
import { withoutGitLocation } from '../git/without-git-location.ts';
import { JournalError } from '../journal/journal.ts';
import type { Policy } from '../loop/policy.ts';
import { UserError } from '../user-error.ts';
import { announce } from '../store/children.ts';
import { endLeftovers } from '../recovery/recovery.ts';
import { OwnedLoop } from './owner.ts';
import { liveOwner, readLoopAt, unknownLoop, type LoopReading } from '../store/read-loop.ts';
import { cannotWrite, prepareFolder } from '../store/ralph-folder.ts';
import { forgetRecords, notesOnOthers, putRecordsAside, recordStart, refuseCommit } from '../scm/start.ts';
import { thisProcess } from '../store/lock-owner.ts';
import { wantsSetUp } from '../worktree/set-up.ts';
import { moveAside } from './workspace.ts';
import { freePlace, makeWorktree, placeFor, refuseToStrand, refuseWorktree } from '../worktree/place.ts';
import { refuseOccupiedPlace } from '../worktree/occupied-place.ts';
import { discard, inTree } from '../worktree/worktree.ts';
import { gitIn } from '../scm/git.ts';

export interface LoopRequest {
  readonly workspace: string;
  /** Null for one that is made up. */
  readonly name: string | null;
  readonly policy: Policy;
  readonly agent: Spec['agent'];
  readonly prompt: PromptSource;
  readonly env: Readonly<Record<string, string>>;
  /** Whether the work is done in a git worktree of its own. */
  readonly worktree?: boolean;
  /** Whether an unfinished loop of the same name may be put aside. */
  readonly fresh: boolean;
  /** What its user should know before it begins. */
  readonly notes?: readonly string[];
  readonly parent: Spec['parent'];
  /** Does the agent's work, where the agent is a function of this program. */
  readonly perform?: Performer | undefined;
}

/** Creates a loop and becomes its owner. */
export async function createLoop(asked: LoopRequest): Promise<OwnedLoop> {
  const workspace = realpathSync(asked.workspace);
  // Nothing may lead git back to where it was started.
  const request = asked.worktree === true ? { ...asked, env: withoutGitLocation(asked.env) } : asked;
  if (request.worktree === true) await refuseWorktree(request.policy, workspace, request.env);
  else await refuseCommit(request.policy, workspace, request.env);
  prepare(workspace);
  const { checks, commit, worktree: tree } = request.policy;
  for (const command of request.worktree === true ? tree.setup : [])
    refuseKey('a set-up command', command, request.env);
  for (const { command } of checks.commands) refuseKey('a check', command, request.env);
  for (const words of commit === null ? [] : [commit.command, ...commit.tasks])
    refuseSecret('an SCM task', words, request.env, 'let a credential helper have it');
  if ('text' in request.prompt) refuseSecret('the prompt', request.prompt.text, request.env, 'leave it out');
  const notes: string[] = [...(request.notes ?? [])];
  const { folder, release, unfinished } = await claimName(request, workspace, notes);
  const { name } = folder;
  const id = newId(name);
  let made: Worktree | undefined;
  try {
    if (request.worktree === true) {
      const place = await placeFor(request.policy, name, workspace, request.env);
      made = await makeWorktree(place, { id, name, workspace }, notes);
    }
    const policy = made === undefined ? request.policy : inTree(request.policy, workspace, made);
    const spec: Spec = {
      version: 1,
      id,
      name,
      workspace,
      created: new Date().toISOString(),
      agent: made === undefined ? request.agent : anchored(request.agent, workspace),
      prompt: request.prompt,
      ...(made === undefined ? {} : { worktree: made }),
      parent: request.parent,
    };
    if (unfinished !== undefined && existsSync(unfinished.progressFile)) {
      copyFileSync(unfinished.progressFile, folder.at.earlierProgress);
    }
    keepQuietly(spec, request.env);
    writeSpec(folder.at.spec, spec, request.env);
    const { completion } = policy;
    if (completion.staleMarkers === 'move-aside') {
      const markers = completion.detectors.flatMap((detector) =>
        detector.kind === 'marker' ? [detector.file] : [],
      );
      moveAside(folder.at, markers);
    }
    notes.push(...notesOnOthers(spec, policy));
    // What a set-up leaves behind is none of the loop's work.
    const note = wantsSetUp(spec, policy)
      ? null
      : await recordStart({ spec, folder: folder.at, env: request.env, policy });
    if (note !== null) notes.push(note);
    if (request.parent !== null) announce(new LoopFolder(request.parent.folder), spec.id, folder.at);
    const { env, perform } = request;
    const loop = new OwnedLoop({ spec, folder: folder.at, env, release, perform });
    // Where nothing could be put on record, nobody need try after every iteration.
    loop.create(note === null ? policy : { ...policy, checkpoint: false });
    loop.notes = notes;
    return loop;
  } catch (error) {
    forget(id);
    unregister(id);
    await forgetRecords({ id }, workspace);
    if (made !== undefined) await discardQuietly(made, workspace, request.env);
    release();
    throw asUserError(error, folder.at.path);
  }
}

/** A program that was named from the workspace is not looked for from the worktree. */
function anchored(agent: Spec['agent'], workspace: string): Spec['agent'] {
  const [program = '', ...more] = agent.argv;
  return program.includes('/') ? { ...agent, argv: [resolve(workspace, program), ...more] } : agent;
}

/** Becomes the owner of a loop that has none, to go on with it. */
export async function takeOver(
  workspace: string,
  name: string,
  env: Readonly<Record<string, string>>,
  given: Readonly<Record<string, string>> = {},
  perform?: Performer,
): Promise<OwnedLoop> {
  const here = realpathSync(workspace);
  const folder = loopFolder(here, name);
  if (!existsSync(folder.journal)) throw unknownLoop(name, folder);
  const lock = await takeLock(folder.lock, thisProcess());
  if (!lock.taken) throw alreadyOwned(name, lock.owner?.pid ?? null);
  try {
    const written = readSpec(folder.spec);
    refuseStranger(written, perform);
    const known = kept(written.id);
    const starters = { ...(known?.env ?? env), ...given };
    const theirs = written.worktree === undefined ? starters : withoutGitLocation(starters);
    const missing = (written.agent.given ?? []).filter((variable) => theirs[variable] === undefined);
    if (missing.length > 0) {
      throw new UserError(
        `${name} was started with --env ${missing.join(', ')}, which is not kept after its end; give it again: ralph resume ${name} ${missing.map((variable) => `--env ${variable}=…`).join(' ')}`,
      );
    }
    if (known === null && written.agent.argv.some((argument) => argument.includes(REDACTED))) {
      throw new UserError(
        `the command of ${name} had a secret in it that is not kept after its end; start it again with ralph run --name ${name}`,
      );
    }
    const isCopy = written.workspace !== here && existsSync(loopFolder(written.workspace, name).journal);
    const spec = {
      ...written,
      // What runs for the original is not ours.
      id: isCopy ? newId(name) : written.id,
      workspace: here,
      agent: { ...written.agent, argv: known?.argv ?? written.agent.argv },
    };
    if (isCopy || written.workspace !== here) writeSpec(folder.spec, spec, theirs);
    keepQuietly(spec, theirs);
    return new OwnedLoop({ spec, folder, env: theirs, release: lock.release, perform });
  } catch (error) {
    lock.release();
    throw asUserError(error, folder.path);
  }
}

/** A function is known only to the program that has it. */
function refuseStranger({ name, agent }: Spec, perform: Performer | undefined): void {
  const isFunction = agent.argv.length === 0;
  if (isFunction && perform === undefined) {
    throw new UserError(
      `the agent of "${name}" is a function of the program that started it, which alone can go on with it: resumeLoop('${name}', { agent })`,
    );
  }
  if (!isFunction && perform !== undefined)
    throw new UserError(`the agent of "${name}" is a command, and no function can take its place`);
}

function alreadyOwned(name: string, pid: number | null): UserError {
  const owner = pid === null ? 'another process' : `process ${pid}`;
  return new UserError(
    `the loop "${name}" is running already, owned by ${owner}; ralph status ${name} shows it, ralph stop ${name} ends it`,
  );
}

function prepare(workspace: string): void {
  try {
    prepareFolder(workspace);
    mkdirSync(loopsFolder(workspace), { recursive: true });
  } catch (error) {
    throw asUserError(error, join(workspace, '.ralph'));
  }
}

function newId(name: string): string {
  return `${name}-${randomUUID().slice(0, 8)}`;
}

interface ClaimedName {
  /** What has become of the loop that had it before, where its work was not done. */
  readonly unfinished?: LoopFolder;
  readonly folder: { readonly name: string; readonly at: LoopFolder };
  readonly release: () => void;
}

/** A folder that is ours alone: made up, or the one that was asked for, with what was there put aside. */
async function claimName(request: LoopRequest, workspace: string, notes: string[]): Promise<ClaimedName> {
  if (request.name === null) return inventName(request, workspace);
  const { name } = request;
  const problem = problemWithName(name);
  if (problem !== null) throw new UserError(`bad name ${JSON.stringify(name)}: ${problem}`);
  const at = loopFolder(workspace, name);
  let unfinished: LoopFolder | undefined;
  for (;;) {
    const hadJournal = existsSync(at.journal);
    if (hadJournal && liveOwner(at) !== null) throw alreadyOwned(name, liveOwner(at));
    // oxlint-disable-next-line no-await-in-loop -- again only after an old loop was put aside
    const lock = await takeLock(at.lock, thisProcess());
    if (!lock.taken) throw alreadyOwned(name, lock.owner?.pid ?? null);
    const old = readLoopAt(at);
    if (old === null) {
      const isNew = !existsSync(at.journal) && !existsSync(join(at.path, 'runs'));
      const before = unfinished === undefined ? {} : { unfinished };
      if (isNew) return { folder: { name, at }, release: lock.release, ...before };
      // What is left of a loop must not be taken for this one's.
      archive(workspace, name, at);
      lock.release();
      continue;
    }
    if (old.trouble !== null && !request.fresh) {
      lock.release();
      throw new UserError(`${old.trouble}; put it aside and start over with: --fresh`);
    }
    if (old.state.outcome === null && !request.fresh) {
      lock.release();
      const what = old.state.control.paused ? 'is paused' : 'was not finished';
      throw new UserError(
        `the loop "${name}" ${what}; go on with: ralph resume ${name}, or start over with: --fresh`,
      );
    }
    try {
      // oxlint-disable-next-line no-await-in-loop -- as above
      await leave(old, request, workspace, notes);
    } catch (error) {
      lock.release();
      throw error;
    }
    const aside = archive(workspace, name, at);
    if (!request.fresh && old.state.outcome?.type !== 'done')
      unfinished = new LoopFolder(resolve(workspace, aside));
    notes.push(`the earlier loop "${name}" was put aside: ${aside}`);
    forget(old.spec.id);
    // oxlint-disable-next-line no-await-in-loop -- as above
    await putRecordsAside(old.spec, workspace);
    lock.release();
  }
}

/** Nothing of a loop that is put aside runs on, and it leaves no tree behind that somebody needs. */
async function leave(
  old: LoopReading,
  request: LoopRequest,
  workspace: string,
  notes: string[],
): Promise<void> {
  const { policy, env } = request;
  const place = request.worktree === true ? await placeFor(policy, old.spec.name, workspace, env) : null;
  await refuseToStrand(old, place, env);
  if (place !== null) await refuseOccupiedPlace(place, old);
  await endLeftovers(old);
  if (place !== null) await freePlace(place, old, notes);
}

async function discardQuietly(
  made: Worktree,
  workspace: string,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  try {
    await discard(gitIn(workspace, env), made);
  } catch {
    // The next loop of this name finds it with nothing in it.
  }
}

async function inventName(request: LoopRequest, workspace: string): Promise<ClaimedName> {
  const { prompt } = request;
  const stem = nameFrom(
    'text' in prompt ? prompt.text : (prompt.file.split('/').at(-1) ?? '').replace(/\.\w+$/, ''),
  );
  for (let number = 1; ; number++) {
    const name = `${stem}-${number}`;
    const at = loopFolder(workspace, name);
    try {
      mkdirSync(at.path);
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'EEXIST') continue;
      throw asUserError(error, at.path);
    }
    // oxlint-disable-next-line no-await-in-loop -- the folder is new: the first try is the last
    const lock = await takeLock(at.lock, thisProcess());
    if (lock.taken) return { folder: { name, at }, release: lock.release };
  }
}

/** Puts a loop aside and tells where. */
function archive(workspace: string, name: string, at: LoopFolder): string {
  const folder = archiveFolder(workspace);
  mkdirSync(folder, { recursive: true });
  let number = 1;
  while (existsSync(join(folder, `${name}-${number}`))) number++;
  renameSync(at.path, join(folder, `${name}-${number}`));
  return relative(workspace, join(folder, `${name}-${number}`));
}

/** What is in a check or a prompt is written down, in the workspace and in the journal. */
function refuseSecret(
  what: string,
  text: string,
  env: Readonly<Record<string, string>>,
  remedy?: string,
): void {
  const name = secretIn(text, env);
  if (name === null) return;
  const instead = remedy ?? `write '$${name}' in single quotes instead`;
  throw new UserError(`${what} contains the value of $${name}; ${instead}, so that it stays out of all logs`);
}

/** Nor need it be anybody's secret that we know of. */
function refuseKey(what: string, command: string, env: Readonly<Record<string, string>>): void {
  refuseSecret(what, command, env);
  if (!hasKey(command)) return;
  throw new UserError(
    `${what} contains what looks like a key: ${hideKeys(command)}; put it into a variable (--env NAME=…) and write '$NAME' instead, so that it stays out of all logs`,
  );
}

function keepQuietly(spec: Spec, env: Readonly<Record<string, string>>): void {
  const { id, name, workspace, agent } = spec;
  try {
    keep(id, { env, argv: agent.argv });
    register({ id, name, workspace, folder: loopFolder(workspace, name).path });
  } catch {
    // A home that cannot be written must not keep anybody from working; only `ls --all` and a restart miss it.
  }
}

function asUserError(error: unknown, path: string): unknown {
  if (error instanceof GitError) return new UserError(`cannot commit: ${error.message}`, 2, { cause: error });
  if (error instanceof JournalError) return new UserError(error.message, 2, { cause: error });
  return cannotWrite(error, path);
}
