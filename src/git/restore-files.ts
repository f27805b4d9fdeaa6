/**
 * Puts single files back as a tree recorded them.
 *
 * 1. Contents come from object ids that the caller knows, never from refs, and must hash to their id.
 * 2. Nothing outside of the working tree is written: a symbolic link in the place of a folder is removed and the folder
 *    made again, and on Linux every folder is entered through an open descriptor, so that a process that swaps folders
 *    meanwhile changes nothing.
 * 3. A file is replaced as a whole: a reader sees the old one or the new one, and hard links to the old one keep it.
 */
import { randomUUID } from 'node:crypto';
import {
  closeSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { openRegular } from '../files/files.ts';
import { bytes, topOf, utf8, type Repository } from './git.ts';
import { readObjects, type RecordedFile } from './recorded-files.ts';

/** Restores files, and returns for each path why that failed, or null. */
export async function restoreFiles(
  repository: Repository,
  files: readonly RecordedFile[],
): Promise<ReadonlyMap<string, string | null>> {
  const top = await topOf(repository);
  const contents = await readObjects(
    repository,
    files.map(({ object }) => object),
  );
  return new Map(
    files.map((file) => {
      const content = contents.get(file.object);
      if (content === undefined) return [file.path, "git no longer has the file's content"];
      return [file.path, restoreFile(top, file, content)];
    }),
  );
}

function restoreFile(top: string, { path, mode }: RecordedFile, content: Buffer): string | null {
  const names = path.split('/');
  const name = names.pop() ?? '';
  if ([...names, name].some((part) => part === '' || part === '.' || part === '..' || part === '.git'))
    return 'its path leads out of the working tree';
  let folder = openFolder(bytes(top));
  try {
    for (const one of names) {
      const inner = enter(folder, one);
      closeSync(folder.descriptor);
      folder = inner;
    }
    put(folder, name, mode, content);
    return null;
  } catch (error) {
    // The rest of a system error names a descriptor.
    return error instanceof Error ? error.message.replace(/, \w+ '.*$/s, '') : String(error);
  } finally {
    closeSync(folder.descriptor);
  }
}

interface Folder {
  readonly descriptor: number;
  readonly path: Buffer;
}

function openFolder(path: Buffer, flags = 0): Folder {
  return { descriptor: openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | flags), path };
}

/** Opens a folder in a folder; makes it if it is missing, or if a symbolic link is in its place. */
function enter(parent: Folder, name: string): Folder {
  const path = within(parent, name);
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isSymbolicLink() === true) unlinkSync(path);
  else if (found !== undefined && !found.isDirectory())
    throw new Error(`${utf8(name)} is no folder any more`);
  if (found?.isDirectory() !== true) mkdirSync(path);
  return openFolder(path, constants.O_NOFOLLOW);
}

function put(folder: Folder, name: string, mode: string, content: Buffer): void {
  const path = within(folder, name);
  if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true) removeEmpty(path, name);
  const temporary = within(folder, `.ralph-restore-${randomUUID()}`);
  try {
    if (mode === '120000') symlinkSync(content, temporary);
    else {
      const file = openRegular(temporary, 'create', mode === '100755' ? 0o777 : 0o666);
      try {
        writeFileSync(file, content);
      } finally {
        closeSync(file);
      }
    }
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

function removeEmpty(path: Buffer, name: string): void {
  try {
    rmdirSync(path);
  } catch (error) {
    throw new Error(`${utf8(name)} is now a folder with files in it`, { cause: error });
  }
}

/** A path within an open folder; where the system has no names for descriptors, within the folder's path. */
function within({ descriptor, path }: Folder, name: string): Buffer {
  const base = HAS_DESCRIPTORS ? Buffer.from(`/proc/self/fd/${descriptor}`) : path;
  return Buffer.concat([base, Buffer.from('/'), bytes(name)]);
}

const HAS_DESCRIPTORS = existsSync('/proc/self/fd');
