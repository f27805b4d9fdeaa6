/**
 * Settings that did not exist before a run cannot be made read-only. If one exists after the run, the agent has made it, and
 * another program would obey it outside of the sandbox: it is moved aside.
 */
import { cpSync, readdirSync, readlinkSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import {
  foundAt,
  isTaken,
  namesIn,
  PRIVATE_FILE,
  PRIVATE_FOLDER,
  makeFolders,
  readJsonFile,
} from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';
import type { Repository } from '../git/git.ts';
import { openRun } from '../loop/run.ts';
import { isRecord } from '../loop/shape.ts';
import { readLoopOf } from '../home/read-loop.ts';
import { loopsFolder, type LoopFolder } from '../home/home.ts';
import { noteLinks, undoLinks } from './git-links.ts';
import { sandboxesAt } from './git-view.ts';

/** Notes where each of these paths leads now, in the loop's state. */
export function noteGuarded(loopFolder: string, { guarded: paths, gitFolders, covered }: Guarded): void {
  noteLinks(loopFolder, gitFolders);
  const links: Record<string, string> = {};
  for (const path of paths)
    follow(path, (link, to) => {
      links[link] = to;
      return true;
    });
  const before = Object.fromEntries(paths.map((path) => [path, target(path)]));
  const stamps = Object.fromEntries(covered.map((path) => [path, stampOf(path)]));
  writeNote(loopFolder, { before, links, stamps });
}

/** Changes when a program replaces a folder or changes a file; null if there is nothing. */
function stampOf(path: string): string | null {
  const found = foundAt(path);
  if (found === null) return null;
  return found.isDirectory() ? `${found.ino}` : `${found.ino} ${found.ctimeMs}`;
}

/** What a sandbox cannot keep as it is. */
export interface Guarded {
  /** Settings files that must not appear while it is used. */
  readonly guarded: readonly string[];
  /** Git folders, in which no link must appear. */
  readonly gitFolders: readonly string[];
  /** What is read-only, until a program outside of the sandbox replaces it. */
  readonly covered: readonly string[];
}

/**
 * Moves what has appeared since into the state of a loop, of that one or of another, and returns what was done, for people. A new link
 * on the way is moved itself: what it leads to may be a file of the user's.
 */
export function moveNewAside(loopFolder: string, into: string = loopFolder): readonly string[] {
  const { before, links, stamps } = readNote(join(loopFolder, NOTE));
  const moved: string[] = [];
  const aside = (found: string, path: string): void => {
    const place = join(into, 'set-aside');
    makeFolders(place, PRIVATE_FOLDER);
    moved.push(path);
    move(found, join(place, String(namesIn(place).length + 1)));
  };
  const restored = undoLinks(loopFolder, aside);
  for (const [path] of Object.entries(before).filter(leadsElsewhere)) {
    const found = follow(path, (link, to) => links[link] === to);
    // A link that was moved for an earlier path is gone.
    if (!isTaken(found)) continue;
    aside(found, path);
  }
  const now = Object.fromEntries(Object.keys(stamps).map((path) => [path, stampOf(path)]));
  // What is gone, such as a worktree, runs nothing.
  const changed = Object.keys(stamps).filter((path) => now[path] !== null && now[path] !== stamps[path]);
  if (changed.length > 0) writeNote(loopFolder, { before, links, stamps: now });
  return [
    ...restored.links.map((path) => `the agent has made ${path} lead elsewhere; it was put back`),
    ...restored.configurations.map(
      (path) =>
        `another program has replaced ${path} during the run, and the agent could write it since; it was put back as it was before the run, and the new one was moved to ${into}/set-aside`,
    ),
    ...moved
      .filter((path) => !restored.configurations.includes(path))
      .map(
        (path) =>
          `the agent has made ${path}, which programs outside of the sandbox would obey; it was moved to ${into}/set-aside`,
      ),
    ...changed.map(
      (path) =>
        `another program has changed ${path} during the run; if it has replaced it, the agent could write it since: look at it before you use it`,
    ),
  ];
}

function writeNote(loopFolder: string, note: Note): void {
  replaceFile(join(loopFolder, NOTE), `${JSON.stringify(note)}\n`, { mode: PRIVATE_FILE });
}

/**
 * Moves aside what has appeared since the start of the loop's last run and puts links back, and says so. Call before anything outside
 * of the sandbox uses the workspace: when a run is over, and before a child starts and a commit is made.
 */
export function clearGuarded({ path }: Pick<LoopFolder, 'path'>, say: (line: string) => void): void {
  for (const done of moveNewAside(path)) say(`warning: ${done}`);
}

/**
 * Does so for all other loops whose sandboxed agents are at work in a repository: call before git runs there outside of a view, and
 * before a note takes what is there for what should be there.
 */
export async function clearGuardedByOthers(
  repository: Pick<Repository, 'folder' | 'env'>,
  { id: own, path }: Pick<LoopFolder, 'id' | 'path'>,
  say: (line: string) => void,
): Promise<void> {
  for (const { id } of await sandboxesAt(repository)) {
    if (id === own || !isAtWork(id)) continue;
    for (const done of moveNewAside(join(loopsFolder(), id), path)) say(`warning: ${done}`);
  }
}

/** Between its runs, what has changed is the user's. */
function isAtWork(id: string): boolean {
  const loop = readLoopOf(id);
  return loop !== null && loop.owner !== null && openRun(loop.state) !== null;
}

function leadsElsewhere([path, was]: readonly [string, unknown]): boolean {
  const now = target(path);
  return now !== null && now !== was;
}

const NOTE = 'guarded.json';

function readNote(path: string): Note {
  const value = readJsonFile(path);
  if (!isRecord(value)) return NOTHING;
  const { before, links, stamps } = value;
  return isRecord(before) && isRecord(links) && isRecord(stamps) ? { before, links, stamps } : NOTHING;
}

interface Note {
  /** Where each path led. */
  readonly before: Readonly<Record<string, unknown>>;
  /** The links on the way, and what each contained. */
  readonly links: Readonly<Record<string, unknown>>;
  readonly stamps: Readonly<Record<string, unknown>>;
}

const NOTHING: Note = { before: {}, links: {}, stamps: {} };

/** Follows a path through the links that `mayPass` accepts; returns the first other link, or where the path leads. */
function follow(path: string, mayPass: (link: string, to: string) => boolean): string {
  let at = '/';
  let rest = partsOf(path);
  for (let steps = 0; steps < MAX_STEPS; steps++) {
    const [part, ...more] = rest;
    if (part === undefined) break;
    const next = join(at, part);
    const to = linkAt(next);
    if (to !== null && !mayPass(next, to)) return next;
    rest = to === null ? more : [...partsOf(to), ...more];
    if (to === null) at = next;
    else if (isAbsolute(to)) at = '/';
  }
  return at;
}

/** Longer than any path; ends a circle of links. */
const MAX_STEPS = 5000;

function partsOf(path: string): readonly string[] {
  return path.split('/').filter((part) => part !== '');
}

function linkAt(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

/** Where the path leads; null if there is nothing, or an empty folder. */
function target(path: string): string | null {
  try {
    const real = realpathSync(path);
    return statSync(real).isDirectory() && readdirSync(real).length === 0 ? null : real;
  } catch {
    // A link to nothing may lead to something later.
    return linkAt(path) === null ? null : path;
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
