import { setFlagsFromString } from 'node:v8';
import { Daemon } from '../daemon/daemon.ts';
import { ensureDaemon } from '../daemon/ensure-daemon.ts';
import { readLog, writeLog } from '../daemon/log.ts';
import { daemonLog, daemonPid } from '../daemon/place.ts';
import { stopDaemon } from '../daemon/stop-daemon.ts';
import { counted } from '../loop/counted.ts';
import { enlisted } from '../store/background.ts';
import { readLoopOf } from '../store/read-loop.ts';
import type { OwnedLoop } from '../owner/owner.ts';
import { closeUnseenWindow, showWindow } from '../loops/window.ts';
import { reasonOf } from '../user-error.ts';
import { homely } from '../text/one-line.ts';
import { print, printJson } from './print.ts';
import { sandboxFront } from '../loops/sandbox-front.ts';

/** `ralph daemon run`: owns the loops in the background; other commands start it when they need it. */
export async function runDaemon(options: { readonly stay?: boolean }): Promise<number> {
  // It runs for days and allocates little, so the young generation need not grow.
  setFlagsFromString('--semi-space-growth-factor=1');
  const isShown = process.stdout.isTTY;
  const log = (line: string): void => {
    writeLog(line);
    if (isShown) print(`${line}\n`);
  };
  const daemon = new Daemon({
    stay: options.stay === true,
    freezeMs: freezeMsOf(process.env),
    log,
    onOwned: (loop) => onOwned(loop, log),
    onRest: (loop) => void onRest(loop),
  });
  const onSignal = (): void => daemon.leave();
  process
    .on('SIGTERM', onSignal)
    .on('SIGINT', onSignal)
    .on('SIGHUP', () => {});
  const failed = leaveOnError(daemon, log);
  const hasRun = await daemon.run();
  const failure = failed();
  if (failure !== null) {
    // The loops of a night must not wait for the next command. One that fails at once would fail again and again, unless the
    // loop that it fails for is set aside.
    if (failure.isNoted || process.uptime() * 1000 > MIN_LIFE_MS) ensureDaemon();
    return 3;
  }
  if (hasRun) return 0;
  if (isShown) print(`a daemon runs already (process ${daemonPid() ?? 'unknown'})\n`);
  return 0;
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

/** Prepares the answers to `ralph` in the sandbox of a loop, and shows its window. */
function onOwned(loop: OwnedLoop, log: (line: string) => void): void {
  loop.serveSandbox(sandboxFront);
  const shown = showWindow(loop).catch((error: unknown) => {
    log(`${loop.spec.name}: no tmux window: ${reasonOf(error)}`);
  });
  opening.set(loop, shown);
}

/** Closes the window of a loop that has ended or is paused. A short loop ends while its window is being opened. */
async function onRest(loop: OwnedLoop): Promise<void> {
  await opening.get(loop);
  await closeUnseenWindow(loop.spec).catch(() => {});
}

const opening = new WeakMap<OwnedLoop, Promise<void>>();

/** `ralph daemon status`: exits 0 if a daemon runs, 1 if none does. */
export function daemonStatus(options: { readonly json?: boolean }): number {
  const pid = daemonPid();
  const loops = enlisted().flatMap((id) => readLoopOf(id) ?? []);
  if (options.json === true) {
    const shown = loops.map(({ spec, owner }) => ({
      name: spec.name,
      workspace: spec.workspace,
      owned: owner !== null && owner === pid,
    }));
    printJson({ running: pid !== null, pid, loops: shown, log: daemonLog() }, 2);
    return pid === null ? 1 : 0;
  }
  const names = loops.map(({ spec }) => `${spec.name} (${homely(spec.workspace, process.env['HOME'])})`);
  const count = names.length === 0 ? null : counted(names.length, 'loop');
  if (pid !== null)
    print(`the daemon runs (process ${pid}); ${count === null ? 'it has no loops' : `it owns ${count}`}\n`);
  else if (count === null) print('no daemon runs; one is started when a loop needs it\n');
  else print(`no daemon runs; waiting for one: ${count}, continued by the next ralph command\n`);
  for (const name of names) print(`  ${name}\n`);
  print(`log: ${homely(daemonLog(), process.env['HOME'])}\n`);
  return pid === null ? 1 : 0;
}

/** `ralph daemon stop`: the daemon leaves its loops and ends; their agents keep running. With `--now` it is not asked. */
export async function stop(options: { readonly now?: boolean }): Promise<number> {
  const pid = await stopDaemon(options.now === true);
  const count = enlisted().length;
  const left =
    count === 0
      ? ''
      : `; ${counted(count, 'loop')} left to the next daemon, which the next ralph command starts`;
  print(pid === null ? 'no daemon runs\n' : `stopped the daemon (process ${pid})${left}\n`);
  return 0;
}

/** `ralph daemon logs`: prints what the daemon did. */
export async function daemonLogs(options: { readonly follow?: boolean }): Promise<number> {
  if (!(await readLog(print, options.follow === true))) print('no daemon has run yet\n');
  return 0;
}
