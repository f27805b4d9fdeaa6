import { setFlagsFromString } from 'node:v8';
import { daemonNow, readDaemonLog, runDaemon as run, stopDaemon } from '../background/background.ts';
import { counted } from '../loop/counted.ts';
import { homely } from '../text/one-line.ts';
import { print, printJson } from './print.ts';

/** `ralph daemon run`: owns the loops in the background; other commands start it when they need it. */
export async function runDaemon(options: { readonly stay?: boolean }): Promise<number> {
  // It runs for days and allocates little, so the young generation need not grow.
  setFlagsFromString('--semi-space-growth-factor=1');
  const isShown = process.stdout.isTTY;
  const log = (line: string): void => {
    if (isShown) print(`${line}\n`);
  };
  const end = await run({ stay: options.stay === true, log }, async () => {
    const { besideDriving } = await import('../loops/beside-driving.ts');
    return besideDriving;
  });
  if (end === 'runs already') log(`a daemon runs already (process ${(await daemonNow()).pid ?? 'unknown'})`);
  return end === 'failed' ? 3 : 0;
}

/** `ralph daemon status`: exits 0 if a daemon runs, 1 if none does. */
export async function daemonStatus(options: { readonly json?: boolean }): Promise<number> {
  const { pid, loops, log } = await daemonNow();
  if (options.json === true) {
    printJson({ running: pid !== null, pid, loops, log }, 2);
    return pid === null ? 1 : 0;
  }
  const names = loops.map(({ name, workspace }) => `${name} (${homely(workspace, process.env['HOME'])})`);
  const count = names.length === 0 ? null : counted(names.length, 'loop');
  if (pid !== null)
    print(`the daemon runs (process ${pid}); ${count === null ? 'it has no loops' : `it owns ${count}`}\n`);
  else if (count === null) print('no daemon runs; one is started when a loop needs it\n');
  else print(`no daemon runs; waiting for one: ${count}, continued by the next ralph command\n`);
  for (const name of names) print(`  ${name}\n`);
  print(`log: ${homely(log, process.env['HOME'])}\n`);
  return pid === null ? 1 : 0;
}

/** `ralph daemon stop`: the daemon leaves its loops and ends; their agents keep running. With `--now` it is not asked. */
export async function stop(options: { readonly now?: boolean }): Promise<number> {
  const { pid, left: count } = await stopDaemon(options.now === true);
  const left =
    count === 0
      ? ''
      : `; ${counted(count, 'loop')} left to the next daemon, which the next ralph command starts`;
  print(pid === null ? 'no daemon runs\n' : `stopped the daemon (process ${pid})${left}\n`);
  return 0;
}

/** `ralph daemon logs`: prints what the daemon did. */
export async function daemonLogs(options: { readonly follow?: boolean }): Promise<number> {
  if (!(await readDaemonLog(print, options.follow === true))) print('no daemon has run yet\n');
  return 0;
}
