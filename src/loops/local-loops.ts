/** The loops of this machine (`loops.ts`). What only some verbs need is loaded by them: a person waits for most commands. */
import { keepDaemonAwake, wakeDaemon } from '../background/background.ts';
import type { SandboxedParent } from '../owner/owner.ts';
import { workspaceAt } from '../home/find-workspace.ts';
import { parentRun } from '../home/enclosing-runs.ts';
import { startersEnvironment } from '../home/run-environment.ts';
import { findRef, folderOf, loopAt, ownedLoopAt, refuseUnreadable } from './find.ts';
import type { LoopKey } from '../home/home.ts';
import { keysFor, rowsOf, straysIn, type Filter } from './list.ts';
import type { LocalLoops, LoopRef } from './loops.ts';
import { Rights, type Verb } from './rights.ts';
import type { Drive } from './send.ts';
import { untilRest } from './until-rest.ts';
import { viewOf } from './view.ts';

export interface Here {
  readonly rights?: Rights;
  /** The loop whose agent asks from a sandbox: the loops that it starts are its children. */
  readonly confinedTo?: SandboxedParent | undefined;
  /** How a loop is driven that has to be owned for a moment to end it. */
  readonly drive?: Drive;
  /** What the caller has typed, for messages. */
  readonly as?: (verb: Verb, name: string) => string;
  /** The loops that a filter can be about. */
  readonly keys?: typeof keysFor;
}

export function localLoops({
  rights = new Rights(),
  confinedTo,
  drive,
  as = asCommand,
  keys: known = keysFor,
}: Here = {}): LocalLoops {
  const keys = (filter: Filter): readonly LoopKey[] =>
    known(filter).filter(
      (key) => rights.allow('look', key) && (filter.waitable !== true || rights.allow('wait', key)),
    );
  const require = (verb: Verb, ref: LoopRef): Promise<void> => rights.require(verb, ref, as(verb, ref.name));
  return {
    async find(name, folder) {
      await wakeDaemon();
      const ref = findRef(folder, name);
      await require('look', ref);
      return ref;
    },
    async list(filter) {
      await wakeDaemon();
      return rowsOf(keys(filter), filter);
    },
    async changes(filter, from, call) {
      await wakeDaemon();
      const { changesOf } = await import('./changes.ts');
      const stopWaking = keepDaemonAwake();
      try {
        return await changesOf(() => keys(filter), filter, from, call);
      } finally {
        stopWaking();
      }
    },
    async get(ref) {
      await require('look', ref);
      return viewOf(loopAt(ref));
    },
    async events(ref, part, call) {
      await require('look', ref);
      const { toldOf } = await import('./events.ts');
      return toldOf(folderOf(ref), part, call);
    },
    async runs(ref) {
      await require('look', ref);
      const { runsOf } = await import('./output.ts');
      return runsOf(folderOf(ref));
    },
    async output(ref, run, what, range, call) {
      await require('look', ref);
      const { chunkOf } = await import('./output.ts');
      return chunkOf(folderOf(ref), run, what, range, call);
    },
    async start(request, help = {}) {
      const { start } = await import('./start.ts');
      return viewOf(await start(request, rights, { ...help, confinedTo }));
    },
    async ownNew(request, help = {}) {
      const { create } = await import('./create.ts');
      return (await create(request, rights, help)).own();
    },
    async startHere(request, help) {
      if (parentRun() === null) {
        const { create } = await import('./create.ts');
        return (await create(request, rights, help)).own();
      }
      const { start } = await import('./start.ts');
      await start(request, rights, help);
      return null;
    },
    async send(ref, control, { signal } = {}) {
      await require(control.type, ref);
      const { driveSilently, sendTo } = await import('./send.ts');
      return sendTo(await ownedLoopAt(ref), control, drive ?? ((owned) => driveSilently(owned, signal)));
    },
    async stopTree(ref, now, { signal } = {}) {
      await require('stop', ref);
      const [{ driveSilently, sendTo }, { stopTree }] = await Promise.all([
        import('./send.ts'),
        import('./stop-tree.ts'),
      ]);
      return stopTree(await ownedLoopAt(ref), (one) =>
        sendTo(one, { type: 'stop', now, by: 'person' }, drive ?? ((owned) => driveSilently(owned, signal))),
      );
    },
    async kill(ref) {
      await require('kill', ref);
      const { killLoop } = await import('./kill.ts');
      return killLoop(loopAt(ref));
    },
    async diff(ref, what) {
      await require('diff', ref);
      const { diffOf } = await import('./diff.ts');
      return diffOf(loopAt(ref), what);
    },
    async patch(ref, trees, range) {
      await require('diff', ref);
      const { patchOf } = await import('./diff.ts');
      return patchOf(loopAt(ref), trees, range);
    },
    async rewind(ref, checkpoint) {
      await require('rewind', ref);
      const { rewindLoop } = await import('./rewind.ts');
      return rewindLoop(loopAt(ref), checkpoint);
    },
    async remove(ref) {
      await require('remove', ref);
      const { removeLoop } = await import('./remove.ts');
      return removeLoop(loopAt(ref));
    },
    async *removeGone() {
      const { removeGone } = await import('./remove.ts');
      yield* removeGone((ref) => require('remove', ref));
    },
    async move(from, to) {
      rights.requireTerms('ralph move');
      const { moveLoops } = await import('./move.ts');
      return moveLoops(from, to);
    },
    async merge(ref, checks, { signal = NEVER, say = () => {} } = {}) {
      await require('merge', ref);
      const loop = loopAt(ref);
      // The checks of the merge are in the journal.
      refuseUnreadable(loop);
      const { mergeWorktree } = await import('./merge.ts');
      return mergeWorktree(loop, { env: startersEnvironment(process.env), checks, say, interrupt: signal });
    },
    async removeWorktree(ref, force) {
      await require('remove', ref);
      const { removeWorktree } = await import('./remove-worktree.ts');
      return removeWorktree(loopAt(ref), force, startersEnvironment(process.env));
    },
    async resume(ref, request) {
      await require('resume', ref);
      const { resumeLoop } = await import('./resume.ts');
      const resumed = await resumeLoop(ref, { ...request, detach: true });
      return resumed.is === 'sent' ? resumed.sent : { is: 'resumed' };
    },
    async own(ref, request, help) {
      await require('resume', ref);
      const { resumeLoop } = await import('./resume.ts');
      return resumeLoop(ref, request, help);
    },
    async strays(folder) {
      return straysIn(folder);
    },
    async worktrees(folder) {
      const { listWorktrees } = await import('./worktrees.ts');
      return listWorktrees(workspaceAt(folder), startersEnvironment(process.env));
    },
    async facts(ref, options) {
      await require('look', ref);
      const { factsOf } = await import('./facts.ts');
      return factsOf(loopAt(ref), options);
    },
    async diffCommand(ref, what, options) {
      await require('look', ref);
      const { diffCommand } = await import('./diff.ts');
      return diffCommand(loopAt(ref), what, options);
    },
    async wait(ref, { signal } = {}) {
      await require('wait', ref);
      const { folder } = loopAt(ref);
      const stopWaking = keepDaemonAwake();
      try {
        const rest = await untilRest(folder, signal);
        if (rest !== null) return { is: 'resting', loop: viewOf(rest) };
        return signal?.aborted === true ? { is: 'driven' } : { is: 'removed' };
      } finally {
        stopWaking();
      }
    },
  };
}

const NEVER = new AbortController().signal;

function asCommand(verb: Verb, name: string): string {
  return `ralph ${verb} ${name}`;
}
