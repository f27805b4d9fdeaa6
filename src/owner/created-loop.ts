/**
 * A new loop that the process which has created it has locked, and that has no owner yet.
 *
 * 1. It is either owned by that process or given away; the lock lasts until then, or until the owner closes.
 */
import { Mask } from '../home/mask.ts';
import type { LoopState } from '../loop/state.ts';
import { startersEnvironment } from '../home/run-environment.ts';
import type { Spec } from '../home/spec.ts';
import type { LoopFolder } from '../home/home.ts';
import { shownCommand } from './agent-host.ts';
import { OwnedLoop, type OwnedLoopSpec } from './owner.ts';
import { asUserError } from './refusals.ts';

export class CreatedLoop {
  readonly spec: Spec;
  readonly folder: LoopFolder;
  /** What the user should know before the loop begins. */
  readonly notes: readonly string[];
  /** After its first events. */
  readonly state: LoopState;
  readonly #loop: OwnedLoopSpec;

  constructor(loop: OwnedLoopSpec, state: LoopState) {
    this.spec = loop.spec;
    this.folder = loop.folder;
    this.notes = loop.notes;
    this.state = state;
    this.#loop = loop;
  }

  /** The agent's command line and the variables that are set for it, without secrets. */
  get shownCommand(): string {
    return shownCommand(this.#loop, this.state);
  }

  /** Masks the secrets of the loop's environment and of our own. */
  get mask(): Mask {
    return new Mask(this.#loop.env, startersEnvironment(process.env));
  }

  /** Becomes its owner. */
  own(): OwnedLoop {
    try {
      return new OwnedLoop({ ...this.#loop, isNew: true });
    } catch (error) {
      this.#loop.release();
      throw asUserError(error, this.folder.path);
    }
  }

  /** Leaves it to its next owner. */
  giveAway(): void {
    this.#loop.release();
  }
}
