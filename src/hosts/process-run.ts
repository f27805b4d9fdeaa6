/** A run as a process: our own child, or one that another owner of the loop started. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { StrayProcess } from '../loop/receipt.ts';
import type { Birth, Marker, SweptRun } from '../process/process-table.ts';
import { processes } from '../process/process.ts';
import { NAMESPACE_FILE } from '../process/sandboxed.ts';
import { exitStatus, shimPid } from '../process/shim.ts';
import { stopRun } from '../process/stop.ts';
import { Tail } from '../process/tail.ts';
import { turn } from '../process/turns.ts';
import { watchFolder } from '../process/watch.ts';
import type { HostedRun, OutputStream } from './host.ts';
import { isDeepStrictEqual } from 'node:util';
import { PRIVATE_FILE, readJsonFile } from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';
import { fields, fits, shortText, whole } from '../loop/shape.ts';

export class ProcessRun implements HostedRun {
  readonly receipt: Birth;
  readonly ended: Promise<void>;
  readonly #folder: string;
  readonly #swept: SweptRun;
  readonly #release: () => void;
  readonly #tails: Tail[] = [];
  /** Null for our own child. */
  readonly #adoption: Adoption | null;
  #stopFollowing: (() => void) | null = null;
  #status: number | null = null;

  /**
   * `exited` resolves to the exit code; it is null for a process that is alive and not our child. `release` lets this
   * process exit before our child does.
   */
  constructor(
    { folder, cwd, marker }: { readonly folder: string; readonly cwd: string; readonly marker: Marker },
    birth: Birth,
    exited: Promise<number | null> | null,
    release: () => void = () => {},
  ) {
    this.receipt = birth;
    this.#folder = folder;
    this.#swept = { shim: birth, marker, folder: cwd, namespaceFile: join(folder, NAMESPACE_FILE) };
    this.#release = release;
    this.#adoption = exited === null ? waitUntil(folder, () => this.#hasEnded()) : null;
    this.ended = this.#keepStatus(exited ?? this.#adoption?.over);
  }

  get isOfEarlierBoot(): boolean {
    const boot = processes.birth(process.pid)?.bootId ?? '';
    const { bootId } = this.receipt;
    return boot !== '' && bootId !== '' && bootId !== boot;
  }

  follow(take: (chunk: Buffer, stream: OutputStream) => void | Promise<void>): void {
    for (const stream of ['stdout', 'stderr'] as const) {
      const path = join(this.#folder, `${stream}.log`);
      if (existsSync(path)) this.#tails.push(new Tail(path, 0, (chunk) => take(chunk, stream)));
    }
    // A run that is shorter than this needs neither a receipt nor a watcher: `close` reads its output.
    const timer = setTimeout(() => {
      writeReceipt(this.#folder, this.receipt);
      this.#stopFollowing = watchFolder(this.#folder, () => this.#look());
      this.#look();
    }, SHORT_RUN_MS);
    this.#stopFollowing = () => clearTimeout(timer);
  }

  async stop(graceMs: number, spared: readonly number[] = []): Promise<readonly StrayProcess[]> {
    const { strays } = await stopRun({ ...this.#swept, graceMs, spared }, processes);
    await this.ended;
    return strays;
  }

  async close(rest: 'read' | 'leave'): Promise<number | null> {
    await this.#letGo(rest);
    // A shim that could not start the agent has its own exit code. On a full disk `started` may exist, but is empty.
    const isAgentStatus = shimPid(this.#folder) !== null || !existsSync(this.#folder);
    return exitStatus(this.#folder) ?? (isAgentStatus ? this.#status : null);
  }

  async detach(): Promise<void> {
    // An owner may leave many loops at once, and each has something to write.
    await turn();
    // The next owner finds the run by this file where the journal has no receipt yet.
    writeReceipt(this.#folder, this.receipt);
    this.#release();
    await this.#letGo('leave');
  }

  async #letGo(rest: 'read' | 'leave'): Promise<void> {
    this.#stopFollowing?.();
    this.#adoption?.cancel();
    await Promise.all(this.#tails.map((tail) => tail.close(rest)));
  }

  async #keepStatus(exited: Promise<number | null | void> | undefined): Promise<void> {
    this.#status = (await exited) ?? null;
  }

  #look(): void {
    for (const tail of this.#tails) tail.look();
  }

  async #hasEnded(): Promise<boolean> {
    if (exitStatus(this.#folder) !== null) return true;
    if (processes.lives(this.receipt)) return false;
    return (await processes.left(this.#swept)).pids.length === 0;
  }
}

const SHORT_RUN_MS = 15;

/** The wait for a process that is not our child. */
interface Adoption {
  readonly over: Promise<void>;
  readonly cancel: () => void;
}

function waitUntil(folder: string, hasEnded: () => Promise<boolean>): Adoption {
  let cancel: (() => void) | null = null;
  const over = new Promise<void>((resolve, reject) => {
    let isLooking = false;
    let isAsked = false;
    const lookWhileAsked = async (): Promise<void> => {
      isLooking = true;
      while (isAsked) {
        isAsked = false;
        // oxlint-disable-next-line no-await-in-loop -- one look after the other
        if (!(await hasEnded())) continue;
        cancel?.();
        resolve();
      }
      isLooking = false;
    };
    const look = (): void => {
      isAsked = true;
      if (!isLooking) lookWhileAsked().catch(reject);
    };
    cancel = watchFolder(folder, look);
    look();
  });
  return { over, cancel: () => cancel?.() };
}

/** Writes the receipt into the run's folder, for an owner that finds the run without a receipt in the journal. */
function writeReceipt(folder: string, birth: Birth): void {
  try {
    // An adopted run has one already.
    if (isDeepStrictEqual(readReceipt(folder), birth)) return;
    replaceFile(fileIn(folder), `${JSON.stringify(birth)}\n`, { mode: PRIVATE_FILE });
  } catch {
    // The journal has the receipt too, and the marker identifies the run.
  }
}

/** Null if there is no valid receipt. */
export function readReceipt(folder: string): Birth | null {
  const value = readJsonFile(fileIn(folder), MAX_BYTES);
  return isBirth(value) ? value : null;
}

function isBirth(value: unknown): value is Birth {
  return fits(BIRTH, value);
}

const text = shortText(200);
const BIRTH = fields({ pid: whole(1), startTime: text, bootId: text, pidNamespace: text });
const MAX_BYTES = 4000;

function fileIn(folder: string): string {
  return join(folder, 'receipt.json');
}
