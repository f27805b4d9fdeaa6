import type { LoopEvent, OutputSnapshot, RunClass } from '../../src/loop/event.ts';
import { isWatching } from '../../src/loop/evidence.ts';
import type { LoopState } from '../../src/loop/state.ts';
import type { FakeWorld } from '../rig/world.ts';
import { must } from './plain.ts';

type Of<Type extends LoopEvent['type']> = Extract<LoopEvent, { type: Type }>;

/** What the oracle knows about claims and their evidence. */
export class ClaimBooks {
  readonly #world: FakeWorld;
  /** Results since the last work run ended, or since the probe before a run. */
  #checks = new Map<number, boolean>();
  #markerSeen = false;
  /** How the last work run of this iteration ended. */
  #lastRun: RunClass | null = null;
  /** The evidence was examined since the last work run ended, or since the probe before a run. */
  isExamined = false;
  isAccepted = false;
  acceptedAt = 0;

  constructor(world: FakeWorld) {
    this.#world = world;
  }

  get checkCount(): number {
    return this.#checks.size;
  }

  reset(): void {
    this.#checks = new Map();
    this.isAccepted = false;
  }

  /** The end was not confirmed: nothing that was found before it is evidence. */
  judgedAgain({ outcome }: LoopState): void {
    must(outcome?.type === 'done', 'L2', 'the end of a loop that is not done is taken back');
    this.reset();
    this.isExamined = false;
  }

  iterationStarted(): void {
    this.#lastRun = null;
  }

  runEnded(as: RunClass | null): void {
    this.reset();
    this.isExamined = false;
    this.#lastRun = as;
  }

  checked(index: number, hasPassed: boolean): void {
    this.#checks.set(index, hasPassed);
  }

  passed({ policy }: LoopState): boolean {
    return policy.checks.commands.every((_, index) => this.#checks.get(index) === true);
  }

  probed({ markers, phase }: Of<'probe.finished'>): void {
    this.#markerSeen = markers.includes('DONE');
    if (this.#markerSeen) must(this.#world.doneFile, 'L3', 'a probe finds a marker that does not exist');
    if (phase === 'before') {
      this.reset();
      this.isExamined = false;
    }
  }

  made({ claim, run }: Of<'claim.made'>, outputs: ReadonlyMap<string, OutputSnapshot>): void {
    if (claim.by === 'promise-tag') {
      const said = run === null ? null : outputs.get(run)?.claim;
      must(said !== null && said !== undefined, 'L3', 'a claim that is not in the output');
    }
    if (claim.by === 'marker') must(this.#markerSeen, 'L3', 'a marker that no probe found');
  }

  accepted({ run, at }: Of<'claim.accepted'>, before: LoopState): void {
    const isTrusted = before.policy.completion.afterFailure === 'consider';
    if (run !== null && this.#lastRun === 'failure' && !isTrusted)
      must(this.passed(before) && this.#checks.size > 0, 'L3', 'the word of a failed run is believed');
    this.mustBeExamined(before, 'a claim is accepted');
    if (isProtecting(before))
      must(!this.#world.tampered, 'L14', 'a claim is accepted although a protected file was changed');
    this.isAccepted = true;
    this.acceptedAt = at;
  }

  mustBeExamined(state: LoopState, what: string): void {
    if (isWatching(state)) must(this.isExamined, 'L14', `${what} and the evidence was not examined`);
  }

  rejected({ because }: Of<'claim.rejected'>, { policy }: LoopState): void {
    if (because === 'protected-change')
      must(this.#world.tampered, 'L14', 'a claim is rejected although no protected file was changed');
    else if (because === 'run-failed')
      must(this.#lastRun !== 'ok', 'L3', 'a claim is rejected although its run did not fail');
    else must([...this.#checks.values()].includes(false), 'L3', 'a claim is rejected without a failed check');
    // The policy may have changed since the probe.
    const claimsByMarker = policy.completion.detectors.some(({ kind }) => kind === 'marker');
    if (this.#markerSeen && claimsByMarker)
      must(!this.#world.doneFile, 'L3', 'a rejected marker is not moved aside');
  }
}

/** Whether a changed protected file rejects claims. */
function isProtecting({ start, policy: { evidence } }: LoopState): boolean {
  return start !== null && evidence.protect.length > 0 && evidence.onProtectedChange !== 'warn';
}
