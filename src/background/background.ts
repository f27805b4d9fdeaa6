/**
 * The background, for fronts: the daemon that owns loops, and the service of the system that keeps one running. What only one command
 * needs is loaded by it.
 */
import { homedir } from 'node:os';
import { enlisted } from '../home/background.ts';
import { unsent } from '../home/notice-secrets.ts';
import { vanishing } from '../files/vanishing.ts';
import type { OwnedLoop } from '../owner/owner.ts';
import type { DaemonEnd, DaemonOptions } from './daemon.ts';
import type * as ServiceFile from './service.ts';
import type { Change, Condition, Manager } from './service.ts';

/** Starts a daemon if loops wait for one, or notices of loops: the last one was ended or killed, or the machine was started again. */
export async function wakeDaemon(): Promise<void> {
  if (enlisted().length === 0 && unsent().length === 0) return;
  try {
    const { ensureDaemon } = await import('./daemon-process.ts');
    ensureDaemon();
  } catch {
    // A command that only reads must work without it; one that needs an owner reports why there is none.
  }
}

/** Lets the daemon send the notices of a loop in a session, which would wait for them otherwise. */
export async function wakeForNotices(): Promise<void> {
  if (unsent().length > 0) await wakeDaemon();
}

/** Does what `wakeDaemon` does every few seconds, for a command that waits for a loop. Returns a function that ends it. */
export function keepDaemonAwake(): () => void {
  const timer = setInterval(() => void wakeDaemon(), WAKE_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** Does it while a loop in the foreground has active children: a daemon that died must not leave them without an owner. */
export function keepAwakeForChildren(loop: Pick<OwnedLoop, 'observe'>): () => void {
  let stop: (() => void) | null = null;
  loop.observe({
    appended(_, { children }) {
      if (children.length > 0) stop ??= keepDaemonAwake();
      else stop = end(stop);
    },
  });
  return () => void end(stop);
}

function end(stop: (() => void) | null): null {
  stop?.();
  return null;
}

const WAKE_MS = 2000;

export interface DaemonNow {
  /** Null if no daemon runs. */
  readonly pid: number | null;
  /** The loops that it should own. */
  readonly loops: readonly { readonly name: string; readonly workspace: string; readonly owned: boolean }[];
  readonly log: string;
}

export async function daemonNow(): Promise<DaemonNow> {
  const [{ readLoopOf }, { daemonLog, daemonPid }] = await Promise.all([
    import('../home/read-loop.ts'),
    import('./place.ts'),
  ]);
  const pid = daemonPid();
  const loops = enlisted().flatMap((id) => readLoopOf(id) ?? []);
  return {
    pid,
    loops: loops.map(({ spec: { name, workspace }, owner }) => ({
      name,
      workspace,
      owned: owner !== null && owner === pid,
    })),
    log: daemonLog(),
  };
}

/** Lets the daemon leave its loops and end; with `now` it is killed. `pid` is null if none ran, `left` counts the loops without one. */
export async function stopDaemon(
  now: boolean,
): Promise<{ readonly pid: number | null; readonly left: number }> {
  const { endDaemon } = await import('./daemon-process.ts');
  const pid = await endDaemon(now);
  return { pid, left: enlisted().length };
}

/** Passes on the log, and what is added to it; false where no daemon has run yet. It never resolves with `follow`. */
export async function readDaemonLog(show: (text: string) => void, follow: boolean): Promise<boolean> {
  const { readLog } = await import('./log.ts');
  return readLog(show, follow);
}

/** Makes this process the daemon, until it has nothing to do or gets a signal. `loadBeside` loads what it does beside driving loops. */
export async function runDaemon(
  options: Pick<DaemonOptions, 'stay' | 'log'>,
  loadBeside: () => Promise<Pick<DaemonOptions, 'onOwned' | 'onRest'>>,
): Promise<DaemonEnd> {
  const { daemonPid } = await import('./place.ts');
  // Of several that are started at once, all but one need not load what drives loops.
  if (!options.stay && daemonPid() !== null) return 'runs already';
  const [{ runAsDaemon }, beside] = await Promise.all([import('./daemon.ts'), loadBeside()]);
  return runAsDaemon({ ...options, ...beside });
}

/** The service of this system. */
export interface Service {
  /** Its manager, as people know it. */
  readonly title: string;
  readonly file: string;
  /** The command that makes it start at boot instead of at login; null if it does already or never can. */
  readonly lingering: string | null;
  /** A file that it needs and that something else will delete; null if there is none. */
  readonly vanishing: string | null;
}

export async function installService(): Promise<Service & { readonly change: Change }> {
  const { manager, install, enableLingering } = await loadService();
  const change = await install(manager, process.env);
  return { ...described(manager), change, lingering: await enableLingering(manager, process.env) };
}

export async function uninstallService(): Promise<Service & { readonly change: Change }> {
  const { manager, uninstall } = await loadService();
  return { ...described(manager), change: await uninstall(manager, process.env) };
}

export async function serviceNow(): Promise<Service & Condition> {
  const { manager, inspect, enableLingering } = await loadService();
  const condition = await inspect(manager, process.env);
  const lingering = condition.isInstalled ? await enableLingering(manager, process.env) : null;
  return { ...described(manager), ...condition, lingering };
}

async function loadService(): Promise<typeof ServiceFile & { readonly manager: Manager }> {
  const [service, { launchd }, { systemd }] = await Promise.all([
    import('./service.ts'),
    import('./launchd.ts'),
    import('./systemd.ts'),
  ]);
  const job = service.daemonJob(process.env);
  const manager =
    process.platform === 'darwin' ? launchd(job, homedir()) : systemd(job, process.env, homedir());
  return { ...service, manager };
}

function described({
  title,
  file,
  job: {
    argv: [node, main = ''],
  },
}: Manager): Service {
  return { title, file, lingering: null, vanishing: vanishing([node, main]) };
}
