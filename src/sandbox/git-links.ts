/**
 * Links that appear in a git folder during a run: the user's own git would follow them, too.
 *
 * 1. HEAD, index and packed-refs that became links are put back as they were before the run.
 * 2. The `commondir` of a worktree leads back to the git folder; an agent can write that of one that is made during its run.
 * 3. Any other new link is moved aside. A link that was there before the run stays.
 */
import { readlinkSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { below } from '../files/below.ts';
import { foundAt, namesIn, textOf, PRIVATE_FILE, PRIVATE_FOLDER } from '../files/files.ts';
import { makeFolders } from '../files/make-folders.ts';
import { readJsonFile } from '../files/read-json.ts';
import { replaceFile } from '../files/replace-file.ts';
import { copyIndexFile } from '../git/copy-index.ts';
import { linksBelow } from '../git/links.ts';
import { fields, fits, list, string } from '../loop/shape.ts';

/** Notes the links of a git folder in the loop's state, and copies the files that are put back. */
export function noteLinks(loopFolder: string, folders: readonly string[]): void {
  const links = folders.flatMap((folder) => linksBelow(folder).map((link) => described(folder, link)));
  const place = join(loopFolder, PLACE);
  rmSync(place, { recursive: true, force: true });
  makeFolders(place, PRIVATE_FOLDER);
  for (const [number, folder] of folders.entries())
    for (const name of KEPT) {
      if (foundAt(join(folder, name))?.isFile() === true)
        copyIndexFile(join(folder, name), join(place, `${number}-${name}`));
    }
  const note: Note = { folders, links };
  replaceFile(join(place, NOTE), JSON.stringify(note), { mode: PRIVATE_FILE });
}

/** Puts back what became a link, hands every other new link to `aside`, and returns what was put back. */
export function undoLinks(
  loopFolder: string,
  aside: (path: string, name: string) => void,
): readonly string[] {
  const place = join(loopFolder, PLACE);
  const value = readJsonFile(join(place, NOTE), MAX_NOTE_BYTES);
  if (!isNote(value)) return [];
  const { folders, links } = value;
  const known = new Set(links);
  const restored: string[] = [];
  for (const [number, folder] of folders.entries())
    for (const link of linksBelow(folder).filter((one) => !known.has(described(folder, one)))) {
      const name = link.at(-1) ?? '';
      const copy = join(place, `${number}-${name}`);
      const isKept = link.length === 1 && foundAt(copy) !== null;
      // No folder on the way may have become a link since.
      below(folder, link.slice(0, -1), { make: false }, (parent) => {
        const path = join(parent, name);
        if (!isKept) return aside(path, join(folder, ...link));
        restored.push(join(folder, name));
        copyIndexFile(copy, `${path}.ralph-${process.pid}`);
        renameSync(`${path}.ralph-${process.pid}`, path);
      });
    }
  return [...restored, ...folders.flatMap(redirected)];
}

/** Points the worktrees of a git folder back to it: one that was made during a run is not covered by its sandbox. */
function redirected(folder: string): readonly string[] {
  return namesIn(join(folder, 'worktrees')).flatMap((name) => {
    const path = join(folder, 'worktrees', name, 'commondir');
    if (foundAt(path)?.isFile() !== true || textOf(path) === BACK) return [];
    below(folder, ['worktrees', name], { make: false }, (at) => replaceFile(join(at, 'commondir'), BACK));
    return [path];
  });
}

/** As git writes it. */
const BACK = '../..\n';

/** Call when the loop's agent does not run any more: the copies may be large. */
export function forgetLinks(loopFolder: string): void {
  rmSync(join(loopFolder, PLACE), { recursive: true, force: true });
}

/** Whether the loop's agent may be running, or its owner has died before it looked. */
export function hasNotedLinks(loopFolder: string): boolean {
  return foundAt(join(loopFolder, PLACE, NOTE)) !== null;
}

const PLACE = 'git-before';
const NOTE = 'links.json';
const KEPT = ['HEAD', 'index', 'packed-refs'];
const MAX_NOTE_BYTES = 64 * 2 ** 20;

/** A link and where it leads. */
function described(folder: string, link: readonly string[]): string {
  const path = join(folder, ...link);
  try {
    return [path, readlinkSync(path)].join('\0');
  } catch {
    return path;
  }
}

interface Note {
  readonly folders: readonly string[];
  readonly links: readonly string[];
}

function isNote(value: unknown): value is Note {
  return fits(NOTE_SHAPE, value);
}

const NOTE_SHAPE = fields({ folders: list(string), links: list(string) });
