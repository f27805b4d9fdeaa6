import type { News, RunReader } from '../agents/reader.ts';
import type { HostedRun, OutputStream } from '../hosts/host.ts';
import { totalTokens } from '../loop/charge.ts';
import type { OutputSnapshot } from '../loop/event.ts';
import { openRun } from '../loop/run.ts';
import type { Run } from '../loop/state.ts';
import type { Driver, EffectOf, Observer } from './ports.ts';
import { Activity, LOOK_EVERY_MS } from './activity.ts';
import type { Task } from './task.ts';

/** Why a run is no longer watched. */
export type Reason =
  /** Its process has ended. */
  | 'exited'
  /** Its stream said that it has finished, and its process did not exit within the grace. */
  | 'finished'
  /** It keeps retrying a request that cannot succeed. */
  | 'hopeless'
  /** It is no longer wanted. */
  | 'interrupted'
  /** Its owner leaves, and it keeps running. */
  | 'left'
  /** A limit: its own time, the loop's time, the time without output, or the bytes of output. */
  | 'wall'
  | 'total'
  | 'inactivity'
  | 'output';

/** How much of the shown output may be missing in the journal after a crash. */
const PUBLISH_EVERY_MS = 5000;

/** How long after its output a CLI may record the usage of it. */
const RECORD_AFTER_MS = 250;

/** How long what a silent CLI records, for its subagents for example, may stay unnoticed. */
const RECORD_EVERY_MS = 2000;

/** How long a limit on cost or tokens may be exceeded unnoticed: each answer of the model reports usage. */
const USAGE_EVERY_MS = 50;

/**
 * Watches a run until it ends, there is a reason to end it, or its owner leaves; `reason` is the first of these. It is rejected
 * if the output cannot be read: a pattern may need too long.
 */
export class RunWatch {
  readonly reason: Promise<Reason>;
  readonly #driver: Driver;
  readonly #run: Run;
  readonly #task: Task;
  readonly #reader: RunReader;
  #resolve!: (reason: Reason) => void;
  #reject!: (error: unknown) => void;
  #alarms: (() => void)[] = [];
  #armedFor = '';
  #bytes = 0;
  readonly #activity: Activity;
  #publishedAt: number;
  /** Cancels the publication of usage that was reported since. */
  #nextPublication: (() => void) | null = null;
  /** Cancels the look at what the CLI has recorded since, and when it takes place. */
  #nextRecordLook: (() => void) | null = null;
  #recordLookAt = Number.POSITIVE_INFINITY;
  #saidAt: number | null = null;
  #isClosed = false;
  #looking: Promise<void> = Promise.resolve();
  #nextLook: (() => void) | null = null;
  #lookingAtScreen: Promise<void> = Promise.resolve();

  constructor(driver: Driver, run: Run, live: HostedRun, reader: RunReader, task: Task) {
    this.#driver = driver;
    this.#run = run;
    this.#task = task;
    this.#reader = reader;
    const now = driver.ports.clock.now();
    const { inactivityOf } = driver.state.policy.timeouts;
    this.#activity = new Activity(inactivityOf, live.screen !== undefined, now);
    this.#publishedAt = now;
    this.reason = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // It may be rejected before anything waits for it.
    this.reason.catch(() => {});
    task.onChange(() => this.#arm());
    task.interrupted.addEventListener('abort', () => this.#resolve('interrupted'));
    if (task.interrupted.aborted) this.#resolve('interrupted');
    task.left.addEventListener('abort', () => this.#resolve('left'));
    if (task.left.aborted) this.#resolve('left');
    void live.ended.then(() => this.#resolve('exited'));
    this.#arm();
    live.follow((chunk, stream) => {
      try {
        return this.#read(chunk, stream);
      } catch (error) {
        this.#reject(error);
        throw error;
      }
    });
    if (live.screen !== undefined) this.#watchScreen(live);
  }

  /** Stops all timers and waits for a look at changed files that is under way; output is still read. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const cancel of this.#alarms) cancel();
    this.#nextPublication?.();
    this.#nextRecordLook?.();
    this.#nextLook?.();
    this.#task.onChange(null);
    await Promise.all([this.#looking, this.#lookingAtScreen]);
  }

  /** Whether it has printed more than it may, even if it exited first. */
  get hasFlooded(): boolean {
    const limit = this.#effect?.outputBytes ?? null;
    return limit !== null && this.#bytes > limit;
  }

  get #effect(): EffectOf<'run'> | null {
    const { effect } = this.#task;
    return effect.type === 'run' ? effect : null;
  }

  #read(chunk: Buffer, stream: OutputStream): void | Promise<void> {
    const { clock, observers } = this.#driver.ports;
    const now = clock.now();
    this.#bytes += chunk.length;
    const news = stream === 'stderr' ? this.#readStderr(chunk) : this.#readStdout(chunk, now);
    if (this.hasFlooded) this.#expire('output');
    if (this.#reader.isHopeless) this.#resolve('hopeless');
    if (this.#reader.isActive) this.#activity.heard(chunk, now);
    this.#publishWhenDue(news, now);
    this.#lookAtRecord(now + RECORD_AFTER_MS);
    return ready(observers);
  }

  #publishWhenDue(news: News, now: number): void {
    const waits = { now: 0, soon: USAGE_EVERY_MS, later: PUBLISH_EVERY_MS };
    const due = this.#publishedAt + waits[news];
    if (now >= due) this.publish();
    // The agent may print nothing more for a while. The end of a run that is no longer watched has its usage.
    else if (news === 'soon' && this.#nextPublication === null && !this.#isClosed)
      this.#nextPublication = this.#driver.ports.clock.at(due, () => this.#publishLater());
  }

  /** Looks at what the CLI has recorded: a moment after its output, and again and again while it prints nothing. */
  #lookAtRecord(at: number): void {
    if (!this.#reader.hasRecord || this.#isClosed || at >= this.#recordLookAt) return;
    const { clock } = this.#driver.ports;
    this.#nextRecordLook?.();
    this.#recordLookAt = at;
    this.#nextRecordLook = clock.at(at, () => {
      this.#recordLookAt = Number.POSITIVE_INFINITY;
      this.#publishLater('usage');
      this.#lookAtRecord(clock.now() + RECORD_EVERY_MS);
    });
  }

  #publishLater(what?: 'usage'): void {
    try {
      this.publish(what);
    } catch (error) {
      this.#reject(error);
    }
  }

  #readStderr(chunk: Buffer): News {
    const fresh = this.#reader.readStderr(chunk);
    const { observers } = this.#driver.ports;
    if (fresh.length > 0) for (const observer of observers) observer.complained?.(this.#run, fresh);
    return 'later';
  }

  #readStdout(chunk: Buffer, now: number): News {
    const news = this.#reader.read(chunk);
    if (this.#saidAt === null && this.#reader.hasResult) {
      this.#saidAt = now;
      this.#arm();
    }
    return news;
  }

  /** Journals what was read, or only new usage, unless the journal has it already. */
  publish(what: 'output' | 'usage' = 'output'): void {
    const snapshot = this.#reader.snapshot(false);
    const known = openRun(this.#driver.state)?.output;
    const hasUsage = known !== undefined && usedMore(snapshot, known);
    if (what === 'usage' && !hasUsage) return;
    this.#nextPublication?.();
    this.#nextPublication = null;
    this.#publishedAt = this.#driver.ports.clock.now();
    // After a crash the output is read again from the beginning.
    if (known === undefined || snapshot.offset < known.offset) return;
    const hasMore = snapshot.offset > known.offset || (snapshot.complained ?? 0) > (known.complained ?? 0);
    // A terminal may show a claim without any new output.
    const hasClaim = snapshot.claim !== null && known.claim === null;
    if (!hasMore && !hasClaim && !hasUsage) return;
    this.#driver.write({ type: 'run.output', run: this.#run.id, ...snapshot });
  }

  /** A limit of the run is exceeded. A run that had reported its result before has not failed. */
  #expire(limit: 'wall' | 'inactivity' | 'output'): void {
    this.#resolve(this.#saidAt === null ? limit : 'finished');
  }

  /** Sets the alarms for the effect in its present form. */
  #arm(): void {
    const effect = this.#effect;
    // The last output and the look at changed files may still arrive after `close`.
    if (effect === null || this.#isClosed) return;
    const { timeoutMs, notAfter, inactivityMs, killGraceMs } = effect;
    const { clock } = this.#driver.ports;
    const alarms: [number | null, () => void][] = [
      [timeoutMs === null ? null : this.#run.plannedAt + timeoutMs, () => this.#expire('wall')],
      [notAfter, () => this.#resolve('total')],
      [this.#saidAt === null ? null : this.#saidAt + killGraceMs, () => this.#resolve('finished')],
      [
        inactivityMs === null ? null : this.#activity.at + inactivityMs,
        () => {
          this.#looking = this.#inactive().catch(() => this.#expire('inactivity'));
        },
      ],
    ];
    // Output moves only the inactivity timer, which re-arms itself.
    const armedFor = [...alarms.slice(0, 3).map(([moment]) => moment), inactivityMs].join();
    if (armedFor === this.#armedFor) return;
    this.#armedFor = armedFor;
    for (const cancel of this.#alarms) cancel();
    this.#alarms = alarms.flatMap(([moment, ring]) => (moment === null ? [] : [clock.at(moment, ring)]));
  }

  /** Looks at the run's terminal until it is no longer watched. */
  #watchScreen(live: HostedRun): void {
    const { clock } = this.#driver.ports;
    const look = async (): Promise<void> => {
      // A terminal that cannot be looked at shows no change.
      const screen = await live.screen?.().catch(() => undefined);
      if (this.#isClosed) return;
      if (screen !== undefined) this.#activity.saw(screen?.text ?? null, clock.now());
      if (screen !== undefined && screen !== null && this.#reader.readScreen(screen.own)) this.publish();
      this.#nextLook = clock.at(clock.now() + LOOK_EVERY_MS, start);
    };
    const start = (): void => {
      this.#lookingAtScreen = look().catch((error: unknown) => this.#reject(error));
    };
    start();
  }

  /** Ends a run that was silent too long, unless a tool call is open or a file has changed meanwhile. */
  async #inactive(): Promise<void> {
    const { clock, workspace } = this.#driver.ports;
    this.#activity.settle(clock.now());
    if (!this.#activity.isTerminalOnly) {
      const { at } = this.#activity;
      this.#activity.showed(
        this.#reader.hasOpenTool ? clock.now() : ((await workspace.changedAfter(at)) ?? 0),
      );
    }
    const limit = this.#effect?.inactivityMs ?? null;
    if (limit !== null && clock.now() - this.#activity.at >= limit) this.#expire('inactivity');
    this.#armedFor = '';
    this.#arm();
  }
}

function usedMore({ tokens, cost }: OutputSnapshot, known: OutputSnapshot): boolean {
  return (
    (tokens === null ? 0 : totalTokens(tokens)) > (known.tokens === null ? 0 : totalTokens(known.tokens)) ||
    (cost?.usd ?? 0) > (known.cost?.usd ?? 0)
  );
}

/** Settles when every observer can take more output; undefined when all can at once. */
function ready(observers: readonly Observer[]): Promise<void> | undefined {
  const waits = observers.flatMap((observer) => observer.ready?.() ?? []);
  return waits.length === 0 ? undefined : Promise.all(waits).then(() => undefined);
}
