/**
 * The process that owns the loops in the background.
 *
 * 1. A state folder has one daemon: the process with the lock on `daemon/lock`.
 * 2. It owns the loops that are enlisted (`home/background.ts`), also those that were entered before it was started, and no others.
 * 3. A loop that cannot be taken over or driven is refused: its entry says why, and the log. It stops neither the daemon nor another loop.
 * 4. After SIGTERM or SIGINT it leaves all loops. Their agents keep running, and the entries stay for the next daemon.
 * 5. It ends when it has nothing to do. It looks once more after it has released its lock: a command that found it alive
 *    relies on it.
 * 6. A loop that ends the daemon, because it keeps it busy or throws what nothing catches, is noted; the second time at the same
 *    event it is set aside (`home/trouble.ts`), and the others go on.
 * 7. It sends the notices that the last owners of loops could not send (`left-notices.ts`), and lives as long as that takes.
 * 8. An agent never gets the daemon's environment, only the one that is kept for its loop.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EngineStop } from '../engine/engine.ts';
import { PRIVATE_FOLDER, makeFolders } from '../files/files.ts';
import type { OwnedLoop } from '../owner/owner.ts';
import { takeOver } from '../owner/take-over.ts';
import { turn } from '../process/turns.ts';
import { watchFolder } from '../process/watch.ts';
import { backgroundFolder, dismiss, enlist, enlisted, isEnlisted, refuse } from '../home/background.ts';
import { noteUnsent } from '../home/notice-secrets.ts';
import { retakeLock, takeLock } from '../home/lock.ts';
import { thisProcess } from '../home/lock-owner.ts';
import { findFolder, liveOwner, readLoopAt } from '../home/read-loop.ts';
import { readSpec } from '../home/spec.ts';
import { LoopFolder, loopsFolder } from '../home/home.ts';
import { noteTrouble, whySetAside } from '../home/trouble.ts';
import { reasonOf, UserError } from '../user-error.ts';
import { ensureDaemon } from './daemon-process.ts';
import { loopInLog, writeLog } from './log.ts';
import { LeftNotices } from './left-notices.ts';
import { daemonFolder, daemonLock, daemonPid } from './place.ts';
import { Watchdog } from './watchdog.ts';

export interface DaemonOptions {
  /** Whether it keeps running while it has nothing to do, and waits for its turn where another daemon runs. */
  readonly stay: boolean;
  /** How long it may work for one loop before it is ended (default 30 s). */
  readonly freezeMs?: number | undefined;
  readonly log: (line: string) => void;
  /** Called for each loop that it owns from now on. */
  readonly onOwned: (loop: OwnedLoop, log: (line: string) => void) => void;
  /** Called for each loop that has ended or is paused. */
  readonly onRest: (loop: OwnedLoop) => Promise<void>;
}

class Daemon {
  readonly #options: DaemonOptions;
  /** The loops that it owns or is about to own, by id; null until the loop is open. */
  readonly #loops = new Map<string, OwnedLoop | null>();
  /** Entries that could not be changed, and when to look at each again. */
  readonly #stuck = new Map<string, number>();
  readonly #left: LeftNotices;
  #watchdog: Watchdog | null = null;
  #isLeaving = false;
  #hasComplained = false;
  #wake: () => void = () => {};

  constructor(options: DaemonOptions) {
    this.#options = options;
    this.#left = new LeftNotices(options.log);
  }

  /** Owns loops until there are none, or until it is told to leave; false if another daemon runs and this one does not stay. */
  async run(): Promise<boolean> {
    makeFolders(backgroundFolder(), PRIVATE_FOLDER);
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- again only if a loop was entered in the last moment
      const lock = await takeLock(daemonLock(), thisProcess());
      if (!lock.taken) {
        if (!this.#options.stay) return false;
        // oxlint-disable-next-line no-await-in-loop -- until the lock is free
        await this.#untilFree();
        if (this.#isLeaving) return true;
        continue;
      }
      this.#options.log(`started (process ${process.pid})`);
      try {
        // oxlint-disable-next-line no-await-in-loop -- as above
        await this.#own();
      } finally {
        this.#options.log(this.#isLeaving ? 'left its loops, ended' : 'has nothing to do, ended');
        lock.release();
      }
      if (this.#isLeaving || this.#wanted().length === 0) return true;
    }
  }

  /** Notes an error that nothing has caught, if it is known for which loop it worked; returns whether it is. */
  noteError(error: unknown): boolean {
    const files = this.#watchdog?.current?.files ?? null;
    if (files === null) return false;
    const [line = ''] = reasonOf(error).split('\n', 1);
    noteTrouble(files, `threw an internal error: ${line}`);
    return true;
  }

  /** Leaves all loops; `run` then returns. */
  leave(): void {
    this.#isLeaving = true;
    for (const loop of this.#loops.values()) loop?.leave();
    this.#left.close();
    this.#wake();
  }

  /** Waits for the end of another daemon. One that a command has started ends when it has nothing to do. */
  async #untilFree(): Promise<void> {
    this.#options.log(
      `process ${process.pid} waits until the daemon (process ${daemonPid() ?? 'unknown'}) ends`,
    );
    const stopWatching = watchFolder(daemonFolder(), () => this.#wake());
    try {
      do {
        // oxlint-disable-next-line no-await-in-loop -- the watch also wakes it each second
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      } while (!this.#isLeaving && daemonPid() !== null);
    } finally {
      stopWatching();
    }
  }

  /** Takes over what is enlisted, until nothing is. */
  async #own(): Promise<void> {
    const stopWatching = watchFolder(backgroundFolder(), () => this.#wake());
    const watchdog = new Watchdog(this.#options.freezeMs ?? FREEZE_MS);
    this.#watchdog = watchdog;
    try {
      for (let idleSince: number | null = null; ;) {
        const changed = new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        this.#notice();
        for (const id of this.#isLeaving ? [] : this.#wanted())
          void watchdog.watch(id, () => this.#drive(id));
        if (!this.#isLeaving) this.#left.look();
        if (this.#loops.size > 0 || (this.#left.isBusy && !this.#isLeaving)) idleSince = null;
        else if (this.#isLeaving) return;
        else if (!this.#options.stay) {
          idleSince ??= performance.now();
          if (performance.now() - idleSince >= LINGER_MS) return;
        }
        // oxlint-disable-next-line no-await-in-loop -- until something has changed; the watch also wakes it each second
        await changed;
      }
    } finally {
      stopWatching();
      this.#left.close();
      await watchdog.close();
    }
  }

  /** The loops to take over now. */
  #wanted(): readonly string[] {
    const now = performance.now();
    return enlisted().filter((id) => !this.#loops.has(id) && now >= (this.#stuck.get(id) ?? 0));
  }

  #refuse(id: string, name: string, why: string, logged: string = why): void {
    this.#options.log(`cannot run ${name}: ${logged}`);
    refuse(id, why);
    this.#leaveStuck(id);
  }

  #dismiss(id: string): void {
    dismiss(id);
    this.#leaveStuck(id);
  }

  /** An entry that could not be changed, as on a read-only file system, is left alone for a while. */
  #leaveStuck(id: string): void {
    if (isEnlisted(id)) this.#stuck.set(id, performance.now() + STUCK_MS);
    else this.#stuck.delete(id);
  }

  /** Notices that its files were removed; without its lock it has to leave, where another daemon has that. */
  #notice(): void {
    try {
      if (!existsSync(daemonLock()) && !retakeLock(daemonLock(), thisProcess())) this.leave();
      if (!existsSync(backgroundFolder())) for (const id of this.#loops.keys()) enlist(id);
      this.#hasComplained = false;
    } catch (error) {
      // What keeps it from making them keeps another daemon from starting; the next look comes within a second.
      if (!this.#hasComplained) this.#options.log(`cannot make its files again: ${reasonOf(error)}`);
      this.#hasComplained = true;
    }
  }

  /** Owns one loop until it ends, rests or is left. */
  async #drive(id: string): Promise<void> {
    this.#loops.set(id, null);
    await turn();
    try {
      const loop = await this.#open(id);
      if (loop !== null) await this.#driveOpen(id, loop);
    } catch (error) {
      const logged = error instanceof Error && !(error instanceof UserError) ? error.stack : undefined;
      this.#refuse(id, id, reasonOf(error), logged);
    } finally {
      this.#loops.delete(id);
      this.#wake();
    }
  }

  /** Becomes the owner of a loop; null if it needs none, or has another one for now. */
  async #open(id: string): Promise<OwnedLoop | null> {
    const path = join(loopsFolder(), id);
    const spec = readSpec(join(path, 'spec.json'));
    const folder = new LoopFolder(spec, path);
    const { workspace, name } = folder;
    if (folder.id !== id || findFolder(workspace, name)?.id !== id) {
      this.#dismiss(id);
      return null;
    }
    if (liveOwner(folder) !== null) {
      // The command that has entered it gives it away in a moment, or a person drives it.
      await sleep(RETRY_MS);
      return null;
    }
    const aside = whySetAside(folder);
    if (aside !== null) {
      this.#refuse(id, loopInLog(folder), aside);
      if (spec.notices !== undefined) noteUnsent(id);
      return null;
    }
    try {
      return await takeOver(workspace, name, { by: 'background' });
    } catch (error) {
      if (liveOwner(folder) !== null) return null;
      if (readLoopAt(folder)?.state.outcome === null) this.#refuse(id, loopInLog(folder), reasonOf(error));
      else this.#dismiss(id);
      return null;
    }
  }

  async #driveOpen(id: string, loop: OwnedLoop): Promise<void> {
    const { log, onOwned, onRest } = this.#options;
    this.#loops.set(id, loop);
    const name = loopInLog(loop.folder);
    const say = (line: string): void => log(`${name}: ${loop.mask.text(line)}`);
    for (const note of loop.notes) say(note);
    log(`owns ${name}`);
    onOwned(loop, log);
    if (this.#isLeaving) loop.leave();
    const stop = await loop.drive({
      status: say,
      stopped: ({ why }) => {
        if (why !== 'left') this.#dismiss(id);
      },
    });
    log(`${name} ${wordFor(stop)}`);
    if (stop.why !== 'left') void onRest(loop);
  }
}

/** Much more than any step of a loop takes on this thread. */
const FREEZE_MS = 30_000;
/** A command that starts one loop after the other should not wait for a new daemon each time. */
const LINGER_MS = 1000;
/** Less than a command waits for its loop to be owned: such an entry may have been made again by one. */
const STUCK_MS = 10_000;
/** How soon it looks again at a loop that another process owns. */
const RETRY_MS = 50;

function wordFor(stop: EngineStop): string {
  switch (stop.why) {
    case 'ended':
      return `ended: ${stop.outcome.type}`;
    case 'lost':
      return `is lost: ${stop.error.message}`;
    case 'paused':
      return 'is paused';
    case 'left':
      return 'was left';
  }
}

export type DaemonEnd = 'ended' | 'runs already' | 'failed';

/** Makes this process the daemon, until it has nothing to do, gets a signal, or throws what nothing catches. */
export async function runAsDaemon(options: Omit<DaemonOptions, 'freezeMs'>): Promise<DaemonEnd> {
  const log = (line: string): void => {
    writeLog(line);
    options.log(line);
  };
  const daemon = new Daemon({ ...options, log, freezeMs: freezeMsOf(process.env) });
  const onSignal = (): void => daemon.leave();
  process
    .on('SIGTERM', onSignal)
    .on('SIGINT', onSignal)
    .on('SIGHUP', () => {});
  const failed = leaveOnError(daemon, log);
  const hasRun = await daemon.run();
  const failure = failed();
  if (failure === null) return hasRun ? 'ended' : 'runs already';
  // The loops of a night must not wait for the next command. One that fails at once would fail again and again, unless the
  // loop that it fails for is set aside.
  if (failure.isNoted || process.uptime() * 1000 > MIN_LIFE_MS) ensureDaemon();
  return 'failed';
}

/** After an error that no loop has caught the daemon leaves all loops; null if that has not happened. */
function leaveOnError(
  daemon: Daemon,
  log: (line: string) => void,
): () => { readonly isNoted: boolean } | null {
  let failure: { readonly isNoted: boolean } | null = null;
  const onError = (error: unknown): void => {
    log(`internal error: ${error instanceof Error ? error.stack : String(error)}`);
    if (failure !== null) return;
    failure = { isNoted: daemon.noteError(error) };
    daemon.leave();
    setTimeout(() => process.exit(3), LEAVE_MS).unref();
  };
  process.on('uncaughtException', onError).on('unhandledRejection', onError);
  return () => failure;
}

/** Tests have no 30 s to wait. */
function freezeMsOf(env: NodeJS.ProcessEnv): number | undefined {
  const given = Number(env['RALPH_TEST_FREEZE_MS'] ?? '');
  return given > 0 ? given : undefined;
}

const MIN_LIFE_MS = 60_000;
/** More than a thousand loops take. */
const LEAVE_MS = 30_000;
