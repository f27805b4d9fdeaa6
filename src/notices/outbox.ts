/**
 * The notices of one loop on their way: a queue for each target, so that one that cannot be reached delays no other.
 *
 * 1. A notice counts as sent once its channel says so. The file is written after each one, so that a crash repeats at most the one of
 *    each target that was on its way.
 * 2. A failed attempt is repeated with growing pauses, for a day; one that no attempt can help is given up at once. The file says why.
 * 3. Nothing here throws, and the loop waits for nothing here but `close`, which has a time limit.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { PRIVATE_FILE } from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';
import type { NoticeSecrets } from '../home/notice-secrets.ts';
import type { NoticeTarget } from '../home/spec.ts';
import { comesAfter, type Notice, type NoticeMemory, type NoticePlace } from '../loop/notice.ts';
import type { ToldNotice } from '../text/notices.ts';
import { Undelivered, type Way } from './channel.ts';
import { channelOf } from './channels.ts';
import type { NoticeProblem, OutboxRecord, TargetRecord } from './outbox-file.ts';

export interface OutboxPlace {
  readonly path: string;
  readonly targets: readonly NoticeTarget[];
  readonly secrets: NoticeSecrets;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** The words of a notice, without secrets. */
  readonly tell: (notice: Notice) => ToldNotice;
  /** Called with the first failure of a target. */
  readonly warn: (line: string) => void;
}

export class Outbox {
  readonly #place: OutboxPlace;
  readonly #lanes: readonly Lane[];
  #through = 0;
  #memory: NoticeMemory = {};

  constructor(place: OutboxPlace, before: OutboxRecord | null) {
    this.#place = place;
    this.#lanes = place.targets.map(
      (target) => new Lane(target, place, before?.targets[target.name], () => this.#save()),
    );
  }

  /** Takes what the journal says by now: the notices that are due and what is known after them. */
  take(notices: readonly Notice[], through: number, memory: NoticeMemory): void {
    this.#through = through;
    this.#memory = memory;
    for (const notice of notices) for (const lane of this.#lanes) lane.add(notice);
  }

  /** Sends from now on. */
  open(): void {
    for (const lane of this.#lanes) lane.open();
  }

  /** Resolves once everything was sent or given up. */
  async finished(): Promise<void> {
    await Promise.all(this.#lanes.map((lane) => lane.quiet('empty')));
  }

  /** Waits for the attempts that are on their way, not longer than this; returns whether everything was sent. */
  async close(graceMs: number): Promise<boolean> {
    const timeout = new AbortController();
    const quiet = Promise.all(this.#lanes.map((lane) => lane.quiet('failing')));
    await Promise.race([quiet, sleep(graceMs, null, { signal: timeout.signal }).catch(() => {})]);
    timeout.abort();
    await Promise.all(this.#lanes.map((lane) => lane.close()));
    this.#save();
    return this.#lanes.every((lane) => lane.record.waiting === 0);
  }

  #save(): void {
    const targets = Object.fromEntries(this.#lanes.map((lane) => [lane.name, lane.record]));
    const record: OutboxRecord = { through: this.#through, memory: this.#memory, targets };
    try {
      replaceFile(this.#place.path, `${JSON.stringify(record)}\n`, { mode: PRIVATE_FILE });
    } catch {
      // The next owner repeats what it cannot see here.
    }
  }
}

/** The queue of one target. */
class Lane {
  readonly #target: NoticeTarget;
  readonly #place: OutboxPlace;
  readonly #save: () => void;
  readonly #stop = new AbortController();
  #queue: Notice[] = [];
  #sent: NoticePlace | null;
  #problem: NoticeProblem | undefined;
  #failures = 0;
  #isOpen = false;
  #isPausing = false;
  #work: Promise<void> | null = null;
  #waiters: (() => void)[] = [];

  constructor(target: NoticeTarget, place: OutboxPlace, before: TargetRecord | undefined, save: () => void) {
    this.#target = target;
    this.#place = place;
    this.#save = save;
    this.#sent = before?.sent ?? null;
    this.#problem = before?.problem;
  }

  get name(): string {
    return this.#target.name;
  }

  get record(): TargetRecord {
    const problem = this.#problem === undefined ? {} : { problem: this.#problem };
    return { sent: this.#sent, waiting: this.#queue.length, ...problem };
  }

  add(notice: Notice): void {
    if (!this.#target.events.includes(notice.kind) || !comesAfter(notice, this.#sent)) return;
    this.#queue.push(notice);
    this.#start();
  }

  open(): void {
    this.#isOpen = true;
    this.#start();
  }

  /** Resolves when nothing is left to send; with `failing` also when nothing is on its way because an attempt has failed. */
  async quiet(how: 'empty' | 'failing'): Promise<void> {
    const isQuiet = (): boolean => this.#work === null || (how === 'failing' && this.#isPausing);
    while (!isQuiet())
      // oxlint-disable-next-line no-await-in-loop -- until it is quiet
      await new Promise<void>((resolve) => {
        this.#waiters.push(resolve);
      });
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#work;
  }

  #start(): void {
    if (this.#isOpen && this.#queue.length > 0 && !this.#stop.signal.aborted) this.#work ??= this.#sendAll();
  }

  async #sendAll(): Promise<void> {
    try {
      for (
        let next = this.#queue[0];
        next !== undefined && !this.#stop.signal.aborted;
        next = this.#queue[0]
      ) {
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        const isOver = await this.#send(next);
        // oxlint-disable-next-line no-await-in-loop -- as above
        if (!isOver) await this.#pause();
      }
    } finally {
      this.#work = null;
      this.#tell();
    }
  }

  /** Whether the notice was sent or given up. */
  async #send(notice: Notice): Promise<boolean> {
    let id = `${notice.number}.${notice.kind}`;
    try {
      const told = this.#place.tell(notice);
      ({ id } = told);
      await send(told, { ...this.#place, target: this.#target, interrupt: this.#stop.signal });
      this.#failures = 0;
      if (this.#problem?.lost === undefined) this.#problem = undefined;
      this.#pass(notice);
      return true;
    } catch (error) {
      if (this.#stop.signal.aborted) return false;
      const known = error instanceof Undelivered ? error : new Undelivered('internal error', false);
      const isLost = !known.mayRetry || Date.now() - notice.at > KEPT_MS;
      const since = this.#problem?.lost === undefined ? (this.#problem?.at ?? Date.now()) : Date.now();
      if (this.#failures === 0)
        this.#place.warn(`warning: notice to ${this.name} failed: ${known.message}; the loop continues`);
      this.#failures++;
      const lost = isLost ? { lost: id } : {};
      this.#problem = { why: known.message, at: since, ...lost };
      if (isLost) this.#pass(notice);
      else this.#save();
      return isLost;
    }
  }

  #pass({ number, kind }: Notice): void {
    this.#queue.shift();
    this.#sent = { number, kind };
    this.#save();
  }

  async #pause(): Promise<void> {
    const ms = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(this.#failures - 1, 20), LAST_PAUSE_MS);
    this.#isPausing = true;
    this.#tell();
    await sleep(ms, null, { signal: this.#stop.signal }).catch(() => {});
    this.#isPausing = false;
  }

  #tell(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const resolve of waiters) resolve();
  }
}

/** Sends one notice to its target; throws `Undelivered`. */
export async function send(
  told: ToldNotice,
  { target, secrets, cwd, env, interrupt }: Pick<OutboxPlace, 'secrets'> & Omit<Way, 'address' | 'key'>,
): Promise<void> {
  const secret = secrets[target.name];
  if (target.kind === 'address' && secret === undefined)
    throw new Undelivered('its address is not known any more', false);
  const address = secret === undefined ? null : new URL(secret.address);
  const way: Way = { target, address, key: secret?.key ?? null, cwd, env, interrupt };
  await channelOf(target, address).send(told, way);
}

const FIRST_PAUSE_MS = 500;
const LAST_PAUSE_MS = 300_000;
/** How long a notice is worth sending. */
const KEPT_MS = 24 * 3_600_000;
