/**
 * Sends what the journal says as notices (`loop/notice.ts`), beside the loop and until every one is delivered: by the owner, and for a
 * loop without an owner by the daemon. A lock keeps the two apart.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { readJournal } from '../journal/file.ts';
import type { LoopEvent } from '../loop/event.ts';
import { evolve } from '../loop/evolve.ts';
import { INITIAL } from '../loop/initial.ts';
import { noticesOf, type Notice, type NoticeMemory } from '../loop/notice.ts';
import type { LoopState } from '../loop/state.ts';
import { readOutbox } from '../notices/outbox-file.ts';
import { Outbox } from '../notices/outbox.ts';
import { toldNotice } from '../text/notices.ts';
import type { LoopFolder } from '../home/home.ts';
import { forgetUnsent, keptNotices, noteUnsent } from '../home/notice-secrets.ts';
import { takeLock } from '../home/lock.ts';
import { thisProcess } from '../home/lock-owner.ts';
import { isInSession, type Spec } from '../home/spec.ts';
import type { Mask } from '../home/mask.ts';
import type { LoopObserver } from './observer.ts';

export interface NotifyingLoop {
  readonly spec: Spec;
  readonly folder: LoopFolder;
  readonly env: Readonly<Record<string, string>>;
  readonly mask: () => Mask;
  readonly say: (line: string) => void;
  /** Its journal has no event that a notice could be due for. */
  readonly isNew?: true;
}

export class LoopNotices implements LoopObserver {
  readonly #loop: NotifyingLoop;
  readonly #hasTargets: boolean;
  #length: number;
  #state: LoopState;
  #memory: NoticeMemory = {};
  /** Everything that may be unsent; the outbox knows what is. */
  #due: Notice[] = [];
  /** Null until this process has the lock. */
  #outbox: Outbox | null = null;
  #begun: Promise<(() => void) | null> | null = null;
  readonly #closing = new AbortController();

  /** `length` and `state` are those of the journal. */
  constructor(loop: NotifyingLoop, length: number, state: LoopState) {
    this.#loop = loop;
    this.#length = length;
    this.#state = state;
    this.#hasTargets = (loop.spec.notices ?? []).length > 0;
    if (!this.#hasTargets || loop.isNew === true) return;
    const before = readOutbox(loop.folder.notices);
    const isSent = Object.values(before?.targets ?? {}).every(({ waiting }) => waiting === 0);
    if (before?.through === length && isSent) this.#memory = before.memory;
    else this.#readAll();
  }

  appended(event: LoopEvent, state: LoopState): void {
    const before = this.#state;
    this.#length++;
    this.#state = state;
    if (!this.#hasTargets) return;
    const { notices, memory } = noticesOf(this.#memory, event, this.#length, [before, state]);
    this.#memory = memory;
    this.#take(notices);
  }

  /** Takes the notice that the loop is set aside, which its journal does not have. */
  setAside(why: string): void {
    const [number, state, at] = [this.#length, this.#state, Date.now()];
    this.#take([{ kind: 'loop.set-aside', number, at, about: why, event: null, state }]);
  }

  /** Sends from now on, once no other process does. */
  goLive(): void {
    if (!this.#hasTargets) return;
    this.#note();
    // The owner of a loop in a session lives for a moment, and the session waits for it.
    if (!isInSession(this.#loop.spec)) this.#begun = this.#begin();
  }

  /** Sends everything that the journal says; resolves early if it is interrupted. */
  async sendAll(interrupt: AbortSignal): Promise<void> {
    if (!this.#hasTargets) return forgetUnsent(this.#loop.spec.id);
    this.#begun = this.#begin();
    const stopped = new Promise<void>((resolve) => {
      interrupt.addEventListener('abort', () => resolve(), { once: true });
      if (interrupt.aborted) resolve();
    });
    await Promise.race([this.#begun.then(() => this.#outbox?.finished()), stopped]);
    await this.#end(0);
  }

  /** Gives what is on its way a moment to arrive. What is left is sent by the next owner, or the daemon. */
  async finish(): Promise<void> {
    if (this.#hasTargets) await this.#end(GRACE_MS);
  }

  async #end(graceMs: number): Promise<void> {
    this.#closing.abort();
    const release = await (this.#begun ?? this.#lock());
    if (release === null) return;
    const isSent = await this.#outbox?.close(graceMs);
    if (isSent === true) forgetUnsent(this.#loop.spec.id);
    release();
  }

  #note(): void {
    try {
      noteUnsent(this.#loop.spec.id);
    } catch {
      // Without the note the daemon does not look after the notices; the owner sends them all the same.
    }
  }

  #take(notices: readonly Notice[]): void {
    if (this.#outbox === null) this.#due.push(...notices);
    else this.#outbox.take(notices, this.#length, this.#memory);
  }

  /** Waits until the daemon has noticed that the loop has an owner; null if the loop is closed before that. */
  async #begin(): Promise<(() => void) | null> {
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- until it is free
      const release = await this.#lock();
      if (release !== null) this.#outbox?.open();
      if (release !== null || this.#closing.signal.aborted) return release;
      // oxlint-disable-next-line no-await-in-loop -- as above
      await sleep(RETRY_MS, null, { signal: this.#closing.signal }).catch(() => {});
    }
  }

  /** Takes the lock, and what the process before has left; null if another process has it. */
  async #lock(): Promise<(() => void) | null> {
    const { spec, folder, env, say } = this.#loop;
    try {
      const lock = await takeLock(folder.noticesLock, thisProcess());
      if (!lock.taken) return null;
      const place = {
        path: folder.notices,
        targets: spec.notices ?? [],
        secrets: keptNotices(spec.id),
        cwd: spec.workspace,
        env,
        tell: (notice: Notice) => this.#loop.mask().value(toldNotice(spec, notice)),
        warn: say,
      };
      this.#outbox = new Outbox(place, readOutbox(folder.notices));
      this.#take(this.#due);
      this.#due = [];
      // The process before may have taken it away at its end.
      this.#note();
      return lock.release;
    } catch {
      // The folder may be removed and made again meanwhile.
      return null;
    }
  }

  /** What the whole journal says, after an owner that died or could not send everything. */
  #readAll(): void {
    let [state, memory, number]: [LoopState, NoticeMemory, number] = [INITIAL, {}, 0];
    readJournal(this.#loop.folder.journal, {
      take: (event) => {
        const after = evolve(state, event);
        const due = noticesOf(memory, event, ++number, [state, after]);
        this.#due.push(...due.notices);
        ({ memory } = due);
        state = after;
      },
    });
    this.#memory = memory;
  }
}

/** Long enough for a server that answers; a loop ends no later because of one that does not. */
const GRACE_MS = 2000;
const RETRY_MS = 500;
