/**
 * Files in a folder that others can change while Ralph uses it: the workspace folder of a loop.
 *
 * 1. No folder between the root and the file may be a symbolic link. On Linux each folder is opened below the one before,
 *    so that no process can put a link there between the look and the use.
 * 2. An error names the real path.
 */
import { closeSync, constants, existsSync, lstatSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf, UnusableFile } from './files.ts';

/**
 * Calls `use` with a path to the folder `parts` below `root`; the path is valid only during the call. Makes missing folders
 * with `make`, else throws ENOENT for them.
 */
export function below<T>(
  root: string,
  parts: readonly string[],
  { make }: { readonly make: boolean },
  use: (folder: string) => T,
): T {
  return HAS_DESCRIPTOR_PATHS
    ? belowDescriptors(root, parts, make, use)
    : use(checkedFolder(root, parts, make));
}

const HAS_DESCRIPTOR_PATHS = process.platform === 'linux';

function belowDescriptors<T>(
  root: string,
  parts: readonly string[],
  make: boolean,
  use: (folder: string) => T,
): T {
  let real = root;
  let descriptor = openFolder(root, real, false);
  try {
    for (const part of parts) {
      const [path, parent] = [`/proc/self/fd/${descriptor}/${part}`, descriptor];
      real = join(real, part);
      // As a rule it is there, and checking is much cheaper than catching what `mkdir` throws.
      if (make && !existsSync(path)) makeFolder(path, real);
      descriptor = openFolder(path, real, true);
      closeSync(parent);
    }
    const folder = `/proc/self/fd/${descriptor}`;
    try {
      return use(folder);
    } catch (error) {
      throw renamed(error, folder, real);
    }
  } finally {
    closeSync(descriptor);
  }
}

function openFolder(path: string, real: string, nofollow: boolean): number {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | (nofollow ? constants.O_NOFOLLOW : 0));
  } catch (error) {
    if (codeOf(error) === 'ELOOP' || codeOf(error) === 'ENOTDIR') throw notAFolder(real);
    throw renamed(error, path, real);
  }
}

function makeFolder(path: string, real: string): void {
  try {
    mkdirSync(path);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw renamed(error, path, real);
  }
}

function checkedFolder(root: string, parts: readonly string[], make: boolean): string {
  let path = root;
  for (const part of parts) {
    path = join(path, part);
    if (make) makeFolder(path, path);
    if (!lstatSync(path).isDirectory()) throw notAFolder(path);
  }
  return path;
}

function notAFolder(path: string): UnusableFile {
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  return new UnusableFile(path, isLink ? 'a symbolic link' : 'not a folder');
}

/** The error with the real path instead of the one that was used. */
function renamed(error: unknown, used: string, real: string): unknown {
  if (!(error instanceof Error)) return error;
  error.message = error.message.replaceAll(used, real);
  if ('path' in error && typeof error.path === 'string') error.path = error.path.replace(used, real);
  return error;
}
