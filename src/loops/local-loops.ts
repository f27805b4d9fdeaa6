/** The loops of this machine (`loops.ts`). */
import { keepDaemonAwake } from '../daemon/wake-daemon.ts';
import type { SandboxedParent } from '../owner/owner.ts';
import { mergeWorktree } from '../worktree/merge.ts';
import { changedSinceStart } from '../scm/changed-since-start.ts';
import { startersEnvironment } from '../store/run-environment.ts';
import { diffLoop } from './diff.ts';
import { eventsOf } from './events.ts';
import { findRef, folderOf, loopAt, ownedLoopAt, refuseUnreadable } from './find.ts';
import { killLoop } from './kill.ts';
import { keysFor, rowsOf, straysIn } from './list.ts';
import type { LocalLoops, LoopRef } from './loops.ts';
import { chunkOf, runsOf } from './output.ts';
import { resumeLoop } from './resume.ts';
import { removeLoop } from './remove.ts';
import { removeWorktree } from './remove-worktree.ts';
import { rewindLoop } from './rewind.ts';
import { Rights, type Verb } from './rights.ts';
import { driveSilently, sendTo, type Drive } from './send.ts';
import { stopTree } from './stop-tree.ts';
import { untilRest } from './until-rest.ts';
import { viewOf } from './view.ts';
import { listWorktrees } from './worktrees.ts';

export interface Here {
  readonly rights?: Rights;
  /** The loop whose agent asks from a sandbox: the loops that it starts are its children. */
  readonly confinedTo?: SandboxedParent | undefined;
  /** How a loop is driven that has to be owned for a moment to end it. */
  readonly drive?: Drive;
  /** What the caller has typed, for messages. */
  readonly as?: (verb: Verb, name: string) => string;
}

export function localLoops({
  rights = new Rights(),
  confinedTo,
  drive = driveSilently,
  as = asCommand,
}: Here = {}): LocalLoops {
  const require = (verb: Verb, ref: LoopRef): Promise<void> => rights.require(verb, ref, as(verb, ref.name));
  return {
    async find(name, folder) {
      const ref = findRef(folder, name);
      await require('look', ref);
      return ref;
    },
    async list(filter) {
      return rowsOf(
        keysFor(filter).filter((key) => rights.allow('look', key)),
        filter,
      );
    },
    async get(ref) {
      await require('look', ref);
      return viewOf(loopAt(ref));
    },
    async events(ref, part, { signal } = {}) {
      await require('look', ref);
      return eventsOf(folderOf(ref), part, signal);
    },
    async runs(ref) {
      await require('look', ref);
      return runsOf(folderOf(ref));
    },
    async output(ref, run, what, range, { signal } = {}) {
      await require('look', ref);
      return chunkOf(folderOf(ref), run, what, range, signal);
    },
    async start(request, help = {}) {
      const { start } = await import('./start.ts');
      return viewOf(await start(request, rights, { ...help, confinedTo }));
    },
    async ownNew(request, help = {}) {
      const { create } = await import('./create.ts');
      return (await create(request, rights, help)).own();
    },
    async send(ref, control) {
      await require(control.type, ref);
      return sendTo(await ownedLoopAt(ref), control, drive);
    },
    async stopTree(ref, now) {
      await require('stop', ref);
      return stopTree(await ownedLoopAt(ref), (one) =>
        sendTo(one, { type: 'stop', now, by: 'person' }, drive),
      );
    },
    async kill(ref) {
      await require('kill', ref);
      return killLoop(loopAt(ref));
    },
    async rewind(ref, checkpoint) {
      await require('rewind', ref);
      return rewindLoop(loopAt(ref), checkpoint);
    },
    async remove(ref) {
      await require('remove', ref);
      return removeLoop(loopAt(ref));
    },
    async merge(ref, checks, { signal = NEVER, say = () => {} } = {}) {
      await require('merge', ref);
      const loop = loopAt(ref);
      // The checks of the merge are in the journal.
      refuseUnreadable(loop);
      return mergeWorktree(loop, { env: startersEnvironment(process.env), checks, say, interrupt: signal });
    },
    async removeWorktree(ref, force) {
      await require('remove', ref);
      return removeWorktree(loopAt(ref), force, startersEnvironment(process.env));
    },
    async resume(ref, request) {
      await require('resume', ref);
      const resumed = await resumeLoop(ref, { ...request, detach: true });
      return resumed.is === 'sent' ? resumed.sent : { is: 'resumed' };
    },
    async own(ref, request, help) {
      await require('resume', ref);
      return resumeLoop(ref, request, help);
    },
    async strays(workspace) {
      return straysIn(workspace);
    },
    worktrees: (workspace) => listWorktrees(workspace, startersEnvironment(process.env)),
    async changedFiles(ref) {
      await require('look', ref);
      return changedSinceStart(loopAt(ref));
    },
    async showDiff(ref, what, options, show) {
      await require('look', ref);
      return diffLoop(loopAt(ref), what, options, show);
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
