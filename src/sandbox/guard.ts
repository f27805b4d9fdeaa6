/**
 * Settings that did not exist before a run cannot be made read-only. If one exists after the run, the agent has made it, and
 * another program would obey it outside of the sandbox: it is moved aside.
 */
import { cpSync, lstatSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isRecord } from '../loop/shape.ts';

/** Notes where each of these paths leads now, in the run's folder. */
export function noteGuarded(runFolder: string, paths: readonly string[]): void {
  const before = Object.fromEntries(paths.map((path) => [path, target(path)]));
  writeFileSync(join(runFolder, NOTE), `${JSON.stringify(before)}\n`, { mode: 0o600 });
}

/** Moves what has appeared since into the run's folder, and returns where it was. */
export function moveNewAside(runFolder: string): readonly string[] {
  const before = readNote(join(runFolder, NOTE));
  const changed = Object.entries(before).filter(([path, was]) => {
    const now = target(path);
    return now !== null && now !== was;
  });
  return changed.flatMap(([path], index) => {
    const aside = join(runFolder, 'set-aside', String(index + 1));
    mkdirSync(join(runFolder, 'set-aside'), { recursive: true, mode: 0o700 });
    return move(path, aside) ? [path] : [];
  });
}

const NOTE = 'guarded.json';

function readNote(path: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return isRecord(value) ? value : {};
  } catch {
    return {};
  }
}

/** The real path; the path itself if it is a link to nothing; null if there is none. */
function target(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return lstatSync(path, { throwIfNoEntry: false }) === undefined ? null : path;
  }
}

function move(from: string, to: string): boolean {
  rmSync(to, { recursive: true, force: true });
  try {
    renameSync(from, to);
    return true;
  } catch {
    // The state folder may be on another file system.
  }
  try {
    cpSync(from, to, { recursive: true, verbatimSymlinks: true });
  } catch {
    // What cannot be copied is removed all the same.
  }
  rmSync(from, { recursive: true, force: true });
  return true;
}
