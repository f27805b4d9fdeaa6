/** Which files the processes of this user have open, where `/proc` tells. */
import { existsSync, readdirSync, statSync, type Stats } from 'node:fs';
import { isInside } from '../files/paths.ts';
import { isAlive, listPids, readStat, workingDirectory } from './proc-files.ts';

export const KNOWS_OPEN_FILES: boolean = existsSync('/proc/self/fd');

/** Whether any process has a file open. Processes of other users cannot be looked at. */
export function isOpen({ dev, ino }: Pick<Stats, 'dev' | 'ino'>): boolean {
  return listPids().some((pid) =>
    descriptorsOf(pid).some((path) => {
      const open = openFile(path);
      return open?.ino === ino && open.dev === dev;
    }),
  );
}

/** Null if it is closed by now, or of another user. */
function openFile(descriptor: string): Stats | null {
  try {
    return statSync(descriptor);
  } catch {
    return null;
  }
}

function descriptorsOf(pid: number): readonly string[] {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).map((name) => `${folder}/${name}`);
  } catch {
    return [];
  }
}

/** Whether a program with this name has its working directory in a folder. */
export function worksIn(folder: string, name: string): boolean {
  return listPids().some((pid) => {
    const at = workingDirectory(pid);
    if (at === null || (at !== folder && !isInside(folder, at))) return false;
    const stat = readStat(pid);
    return isAlive(stat) && stat?.command === name;
  });
}
