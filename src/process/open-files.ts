/** Which files the processes of this user have open, where `/proc` tells. */
import { existsSync, readdirSync, statSync, type Stats } from 'node:fs';
import { isAlive, listPids, readStat } from './proc-files.ts';

export const KNOWS_OPEN_FILES: boolean = existsSync('/proc/self/fd');

/** The processes that have a file open. Those of other users cannot be looked at. */
export function openedBy({ dev, ino }: Pick<Stats, 'dev' | 'ino'>): readonly number[] {
  if (!KNOWS_OPEN_FILES) return [];
  return listPids().filter((pid) =>
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

/**
 * Whether `program`, or one of its `program-…`, has its working directory in one of the folders. They are told by their inodes:
 * a container has a folder of this machine at a path of its own.
 */
export function worksIn(folders: readonly string[], program: string): boolean {
  const wanted = new Set(folders.map(identityOf));
  return listPids().some((pid) => {
    const stat = readStat(pid);
    const isProgram = stat?.command === program || stat?.command.startsWith(`${program}-`) === true;
    return isProgram && isAlive(stat) && isBelow(`/proc/${pid}/cwd`, wanted);
  });
}

function isBelow(folder: string, wanted: ReadonlySet<string | null>): boolean {
  let [at, identity] = [folder, identityOf(folder)];
  for (let outer: string | null = null; identity !== null && identity !== outer;) {
    if (wanted.has(identity)) return true;
    outer = identity;
    at += '/..';
    identity = identityOf(at);
  }
  return false;
}

function identityOf(folder: string): string | null {
  try {
    const { dev, ino } = statSync(folder);
    return `${dev}:${ino}`;
  } catch {
    return null;
  }
}
