/**
 * What a run has left in a git folder that the user's own git would follow or obey.
 *
 * 1. HEAD, index, packed-refs and the configuration are put back as they were before the run if they became links.
 * 2. Any other new link is moved aside. A link that was there before the run stays.
 * 3. The configuration is put back if it differs, since an agent can write it as soon as a program outside of its sandbox has
 *    replaced it: the kernel drops the mount on it then. Sections of branches may come and go, because git writes them all the time.
 * 4. An agent can write the folder of a worktree that is made during its run: its `commondir` leads back to the git folder, and a
 *    configuration of its own is moved aside.
 */
import { chmodSync, lstatSync, readlinkSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { below } from '../files/below.ts';
import {
  foundAt,
  isTaken,
  textOf,
  PRIVATE_FILE,
  PRIVATE_FOLDER,
  makeFolders,
  readJsonFile,
} from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';
import { copyIndexFile } from '../git/index-file.ts';
import { linksBelow } from '../git/links.ts';
import { fields, fits, list, string } from '../loop/shape.ts';
import { worktreesIn } from './git-places.ts';

/** Notes the links of a git folder in the loop's state, and copies the files that are put back. */
export function noteLinks(loopFolder: string, folders: readonly string[]): void {
  const links = folders.flatMap((folder) => linksBelow(folder).map((link) => described(folder, link)));
  const place = join(loopFolder, PLACE);
  rmSync(place, { recursive: true, force: true });
  makeFolders(place, PRIVATE_FOLDER);
  for (const [number, folder] of folders.entries())
    for (const name of KEPT) {
      if (foundAt(join(folder, name))?.isFile() === true)
        copyWithMode(join(folder, name), join(place, `${number}-${name}`));
    }
  const note: Note = { folders, links, worktrees: folders.flatMap(worktreesIn) };
  replaceFile(join(place, NOTE), JSON.stringify(note), { mode: PRIVATE_FILE });
}

/** Puts back what became a link or was replaced, and hands everything else that is new to `aside`; returns what was put back. */
export function undoLinks(
  loopFolder: string,
  aside: (path: string, name: string) => void,
): { readonly links: readonly string[]; readonly configurations: readonly string[] } {
  const place = join(loopFolder, PLACE);
  const value = readJsonFile(join(place, NOTE), MAX_NOTE_BYTES);
  if (!isNote(value)) return { links: [], configurations: [] };
  const { folders, links, worktrees } = value;
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
        putBack(copy, path);
      });
    }
  const made = folders.flatMap(worktreesIn).filter((path) => !worktrees.includes(path));
  for (const path of made) setConfigurationAside(path, aside);
  const configurations = folders.flatMap((folder, number) =>
    configurationRestored(folder, join(place, `${number}-config`), aside),
  );
  return { links: [...restored, ...folders.flatMap(redirected)], configurations };
}

function putBack(copy: string, path: string): void {
  const scratch = `${path}.ralph-${process.pid}`;
  rmSync(scratch, { force: true });
  copyWithMode(copy, scratch);
  renameSync(scratch, path);
}

function copyWithMode(from: string, to: string): void {
  copyIndexFile(from, to);
  chmodSync(to, lstatSync(from).mode & 0o777);
}

/** Puts the configuration of a git folder back; returns its path if that was necessary. */
function configurationRestored(
  folder: string,
  copy: string,
  aside: (path: string, name: string) => void,
): readonly string[] {
  const path = join(folder, CONFIG);
  const before = textOf(copy);
  if (before === null) return [];
  const now = textOf(path);
  if (now !== null && withoutBranches(now, before) === withoutBranches(before, before)) return [];
  below(folder, [], { make: false }, (at) => {
    if (isTaken(join(at, CONFIG))) aside(join(at, CONFIG), path);
    putBack(copy, join(at, CONFIG));
  });
  return [path];
}

/** A configuration without the sections of branches that say no more than what a branch follows, at a remote of `before`. */
function withoutBranches(text: string, before: string): string {
  const remotes = [...before.matchAll(/^\[remote "([\w-]+)"\]$/gm)].map(([, name]) => name);
  const remote = String.raw`remote = (?:${['\\.', ...remotes].join('|')})`;
  const other = String.raw`(?:ralphLoop|ralphKept|merge|rebase|vscode-merge-base) = [\w./@+-]*`;
  // What follows must not become part of the section.
  return text.replaceAll(
    new RegExp(String.raw`^\[branch "[^"\\\n]*"\]\n(?:\t(?:${remote}|${other})\n)*(?=\[|(?![^]))`, 'gm'),
    '',
  );
}

/** A worktree's own configuration, unless git has copied that of the main tree. */
function setConfigurationAside(folder: string, aside: (path: string, name: string) => void): void {
  const path = join(folder, OWN_CONFIG);
  if (!isTaken(path) || textOf(path) === textOf(join(folder, '..', '..', OWN_CONFIG))) return;
  below(dirname(dirname(folder)), ['worktrees', basename(folder)], { make: false }, (at) =>
    aside(join(at, OWN_CONFIG), path),
  );
}

/** Points the worktrees of a git folder back to it: one that was made during a run is not covered by its sandbox. */
function redirected(folder: string): readonly string[] {
  return worktreesIn(folder).flatMap((at) => {
    const path = join(at, 'commondir');
    if (foundAt(path)?.isFile() !== true || textOf(path) === BACK) return [];
    below(folder, ['worktrees', basename(at)], { make: false }, (own) =>
      replaceFile(join(own, 'commondir'), BACK),
    );
    return [path];
  });
}

/** As git writes it. */
const BACK = '../..\n';

/** Call when the loop's agent does not run any more: the copies may be large. */
export function forgetLinks(loopFolder: string): void {
  rmSync(join(loopFolder, PLACE), { recursive: true, force: true });
}

const PLACE = 'git-before';
const NOTE = 'links.json';
const CONFIG = 'config';
const OWN_CONFIG = 'config.worktree';
const KEPT = ['HEAD', 'index', 'packed-refs', CONFIG];
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
  readonly worktrees: readonly string[];
}

function isNote(value: unknown): value is Note {
  return fits(NOTE_SHAPE, value);
}

const NOTE_SHAPE = fields({ folders: list(string), links: list(string), worktrees: list(string) });
