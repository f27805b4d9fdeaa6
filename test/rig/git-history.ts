import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { GitFolder } from './git-folder.ts';

/** File names and contents. */
export type Files = ReadonlyMap<string, string>;

/** Writes or removes a file; replaces a folder of its name and files that are in its path. */
export function put(at: GitFolder, name: string, text: string | null): void {
  for (let folder = dirname(name); folder !== '.'; folder = dirname(folder)) {
    if (isFile(at.path(folder))) rmSync(at.path(folder));
  }
  rmSync(at.path(name), { recursive: true, force: true });
  if (text === null) return;
  mkdirSync(dirname(at.path(name)), { recursive: true });
  writeFileSync(at.path(name), text);
}

function isFile(path: string): boolean {
  try {
    return lstatSync(path).isFile();
  } catch {
    return false;
  }
}

/** The files of a folder. */
export function filesIn(folder: string, prefix = ''): Files {
  const files = new Map<string, string>();
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.name === '.git') continue;
    const path = join(folder, entry.name);
    if (!entry.isDirectory()) files.set(prefix + entry.name, readFileSync(path, 'utf8'));
    else for (const [name, text] of filesIn(path, `${prefix}${entry.name}/`)) files.set(name, text);
  }
  return files;
}

/** The files of a commit or tree. */
export function filesOf(at: GitFolder, what: string): Files {
  return new Map(at.files(what).map((name) => [name, at.git('show', `${what}:${name}`)]));
}

export function sorted(files: Files): readonly (readonly [string, string])[] {
  return [...files].toSorted(([a], [b]) => (a < b ? -1 : 1));
}
