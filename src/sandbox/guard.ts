/**
 * Settings that did not exist before a run cannot be made read-only. If one exists after the run, the agent has made it, and
 * another program would obey it outside of the sandbox: it is moved aside.
 */
import {
  cpSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { PRIVATE_FILE, textOf } from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';
import { isRecord } from '../loop/shape.ts';

/** Notes where each of these paths leads now, in the run's folder. */
export function noteGuarded(runFolder: string, paths: readonly string[]): void {
  const before = Object.fromEntries(paths.map((path) => [path, target(path)]));
  replaceFile(join(runFolder, NOTE), `${JSON.stringify(before)}\n`, { mode: PRIVATE_FILE });
}

/** Moves what has appeared since into the run's folder, and returns where it was. */
export function moveNewAside(runFolder: string): readonly string[] {
  const before = readNote(join(runFolder, NOTE));
  const changed = Object.entries(before).filter(([path, was]) => {
    const now = target(path);
    return now !== null && now !== was;
  });
  return changed.map(([path], index) => {
    const aside = join(runFolder, 'set-aside', String(index + 1));
    mkdirSync(join(runFolder, 'set-aside'), { recursive: true, mode: 0o700 });
    move(path, aside);
    return path;
  });
}

const NOTE = 'guarded.json';

function readNote(path: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(textOf(path) ?? '');
    return isRecord(value) ? value : {};
  } catch {
    return {};
  }
}

/** Where the path leads; null if there is nothing, or an empty folder. */
function target(path: string): string | null {
  try {
    const real = realpathSync(path);
    return statSync(real).isDirectory() && readdirSync(real).length === 0 ? null : real;
  } catch {
    return isLink(path) ? path : null;
  }
}

/** A link to nothing may lead to something later. */
function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink();
  } catch {
    return false;
  }
}

function move(from: string, to: string): void {
  rmSync(to, { recursive: true, force: true });
  try {
    return renameSync(from, to);
  } catch {
    // The state folder may be on another file system.
  }
  try {
    cpSync(from, to, { recursive: true, verbatimSymlinks: true });
  } catch {
    // What cannot be copied is removed all the same.
  }
  rmSync(from, { recursive: true, force: true });
}
