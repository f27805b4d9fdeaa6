import { lstatSync } from 'node:fs';

/** What is at a path on disk, without following a symbolic link, which counts as a file; the path is in Latin-1. */
export function kindOf(path: string): 'file' | 'folder' | 'nothing' {
  try {
    return lstatSync(Buffer.from(path, 'latin1')).isDirectory() ? 'folder' : 'file';
  } catch {
    return 'nothing';
  }
}

/** The path itself, or the first of its parents that is a file and so blocks it. */
export function blockedBy(top: string, path: string): string {
  for (let end = path.indexOf('/'); end > 0; end = path.indexOf('/', end + 1)) {
    const kind = kindOf(`${top}/${path.slice(0, end)}`);
    if (kind !== 'folder') return kind === 'file' ? path.slice(0, end) : path;
  }
  return path;
}

/** All folders that contain one of these files, at any depth. */
export function foldersOf(paths: readonly string[]): ReadonlySet<string> {
  const folders = new Set<string>();
  for (const path of paths) {
    for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) {
      const folder = path.slice(0, at);
      if (folders.has(folder)) break;
      folders.add(folder);
    }
  }
  return folders;
}
