/** The daemon's log: a line per happening, with its time. It keeps at most two files of a megabyte. */
import { closeSync, existsSync, renameSync, statSync, writeSync } from 'node:fs';
import { openRegular } from '../files/files.ts';
import { localTime } from '../text/times.ts';
import { joinLines } from '../loop/excerpt.ts';
import { Tail } from '../process/tail.ts';
import { watchFolder } from '../process/watch.ts';
import type { LoopFolder } from '../home/home.ts';
import { daemonFolder, daemonLog } from './place.ts';

/** Appends a line; the daemon does not end because its log cannot be written. */
export function writeLog(line: string): void {
  const path = daemonLog();
  try {
    if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > MAX_BYTES) renameSync(path, `${path}.1`);
    const text = joinLines(line, ' | ');
    const descriptor = openRegular(path, 'append');
    try {
      writeSync(descriptor, `${localTime(Date.now())} ${text}\n`);
    } finally {
      closeSync(descriptor);
    }
  } catch {
    // The disk may be full.
  }
}

/** Passes on the log, and what is added to it; false where no daemon has run yet. It never resolves with `follow`. */
export async function readLog(show: (text: string) => void, follow: boolean): Promise<boolean> {
  if (!existsSync(daemonLog())) return false;
  const tail = new Tail(daemonLog(), 0, (chunk) => show(chunk.toString('utf8')));
  if (!follow) {
    await tail.close();
    return true;
  }
  watchFolder(daemonFolder(), () => tail.look());
  tail.look();
  return new Promise(() => {});
}

/** How the log names a loop. */
export function loopInLog({ name, workspace }: LoopFolder): string {
  return `${name} (${workspace})`;
}

const MAX_BYTES = 2 ** 20;
