/** The loops of this machine (`loops.ts`). */
import { keepDaemonAwake } from '../daemon/wake-daemon.ts';
import { findRef, loopAt, ownedLoopAt } from './find.ts';
import { killLoop } from './kill.ts';
import type { LoopRef, Loops } from './loops.ts';
import { Rights, type Verb } from './rights.ts';
import { driveSilently, sendTo, type Drive } from './send.ts';
import { stopTree } from './stop-tree.ts';
import { untilRest } from './until-rest.ts';
import { viewOf } from './view.ts';

export interface Here {
  readonly rights?: Rights;
  /** How a loop is driven that has to be owned for a moment to end it. */
  readonly drive?: Drive;
  /** What the caller has typed, for messages. */
  readonly as?: (verb: Verb, name: string) => string;
}

export function localLoops({
  rights = new Rights(),
  drive = driveSilently,
  as = asCommand,
}: Here = {}): Loops {
  const require = (verb: Verb, ref: LoopRef): Promise<void> => rights.require(verb, ref, as(verb, ref.name));
  return {
    async find(name, folder) {
      const ref = findRef(folder, name);
      await require('look', ref);
      return ref;
    },
    async get(ref) {
      await require('look', ref);
      return viewOf(loopAt(ref));
    },
    async send(ref, control) {
      await require(control.type, ref);
      return sendTo(await ownedLoopAt(ref), control, drive);
    },
    async stopTree(ref, now) {
      await require('stop', ref);
      return stopTree(await ownedLoopAt(ref), (one) => sendTo(one, { type: 'stop', now }, drive));
    },
    async kill(ref) {
      await require('kill', ref);
      return killLoop(loopAt(ref));
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

function asCommand(verb: Verb, name: string): string {
  return `ralph ${verb} ${name}`;
}
