/**
 * Exact copies of files that git would not restore byte for byte: a filter or a line-end conversion loses something on
 * the way in, and of the permissions git keeps only the executable bit.
 *
 * The copies are in a folder under their paths from the top of the repository. All paths are in Latin-1.
 */
import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  type Stats,
} from 'node:fs';
import { bytes, execGit, gitFailure, prefixOf, topOf, type Repository } from './git.ts';

/** A file that is about to be changed or removed. */
export interface EndangeredFile {
  readonly path: string;
  /** As git records it: `100755`. */
  readonly mode: string;
}

/** Copies those files that a checkout from the index would not restore exactly, and returns their number. */
export async function saveExactCopies(
  repository: Repository,
  files: readonly EndangeredFile[],
  { index, folder, scratch }: { readonly index: string; readonly folder: string; readonly scratch: string },
): Promise<number> {
  const top = await topOf(repository);
  const existing = files.filter(({ path }) => fileAt(`${top}/${path}`) !== null);
  const converted = await convertedAmong(repository, existing);
  const umask = process.umask();
  const hasUnusualMode = ({ path, mode }: EndangeredFile): boolean =>
    permissions(`${top}/${path}`) !== ((mode === '100755' ? 0o777 : 0o666) & ~umask);
  try {
    await checkOut(repository, converted, index, scratch);
    const mayDiffer = new Set(converted);
    const isInexact = (file: EndangeredFile): boolean =>
      mayDiffer.has(file)
        ? !isSame(`${top}/${file.path}`, `${latin1(scratch)}/${file.path}`)
        : hasUnusualMode(file);
    const inexact = existing.filter(isInexact);
    for (const { path } of inexact) copy(`${top}/${path}`, `${latin1(folder)}/${path}`);
    return inexact.length;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** The files that differ from their copies in a folder. */
export async function differingFromCopies(
  repository: Repository,
  folder: string,
): Promise<readonly string[]> {
  const copies = filesBelow(latin1(folder));
  if (copies.length === 0) return [];
  const top = await topOf(repository);
  return copies.filter((path) => !isSame(`${latin1(folder)}/${path}`, `${top}/${path}`));
}

/** Overwrites files with their copies. */
export async function restoreExactCopies(
  repository: Repository,
  folder: string,
  paths: readonly string[],
): Promise<void> {
  const top = await topOf(repository);
  for (const path of paths) copy(`${latin1(folder)}/${path}`, `${top}/${path}`);
}

/** The files that git may convert when it adds them or checks them out. */
async function convertedAmong(
  repository: Repository,
  files: readonly EndangeredFile[],
): Promise<readonly EndangeredFile[]> {
  if (files.length === 0) return [];
  const names = await namesInWorkspace(repository, files);
  const args = ['check-attr', '-z', '--stdin', ...ATTRIBUTES];
  const answer = await execGit(repository, args, {}, { input: nulSeparated(names) });
  if (answer.code !== 0) throw gitFailure(args, answer);
  const fields = answer.stdout.toString('latin1').split('\0');
  const setting = await execGit(repository, ['config', '--get', 'core.autocrlf']);
  const isAutocrlfOff = /^(?:false|no|off|0|)$/i.test(setting.stdout.toString('latin1').trim());
  return files.filter((_, at) => {
    const first = at * ATTRIBUTES.length;
    const values = ATTRIBUTES.map((__, index) => fields[(first + index) * 3 + 2]);
    const isText = values[0] !== 'unset' && values[1] !== 'unset';
    return values.some((value) => value !== 'unspecified' && value !== 'unset') || (isText && !isAutocrlfOff);
  });
}

const ATTRIBUTES = ['text', 'crlf', 'eol', 'filter', 'ident', 'working-tree-encoding'];

/** Checks files out to a separate folder. A file that git cannot check out is missing there. */
async function checkOut(
  repository: Repository,
  files: readonly EndangeredFile[],
  index: string,
  into: string,
): Promise<void> {
  rmSync(into, { recursive: true, force: true });
  if (files.length === 0) return;
  const args = ['checkout-index', '--quiet', `--prefix=${into}/`, '-z', '--stdin'];
  const input = nulSeparated(await namesInWorkspace(repository, files));
  await execGit(repository, args, { GIT_INDEX_FILE: index }, { input });
}

async function namesInWorkspace(
  repository: Repository,
  files: readonly EndangeredFile[],
): Promise<readonly string[]> {
  const prefix = await prefixOf(repository);
  return files.map(({ path }) => path.slice(prefix.length));
}

function nulSeparated(names: readonly string[]): Buffer {
  return Buffer.from(names.map((name) => `${name}\0`).join(''), 'latin1');
}

function filesBelow(folder: string, prefix = ''): readonly string[] {
  let names: readonly string[];
  try {
    names = readdirSync(bytes(`${folder}/${prefix}`), 'latin1');
  } catch {
    return [];
  }
  return names.flatMap((name) =>
    fileAt(`${folder}/${prefix}${name}`) === null
      ? filesBelow(folder, `${prefix}${name}/`)
      : [`${prefix}${name}`],
  );
}

function copy(from: string, to: string): void {
  mkdirSync(bytes(to.slice(0, to.lastIndexOf('/'))), { recursive: true });
  // Removed first, so that hard links to it keep their content.
  rmSync(bytes(to), { force: true });
  copyFileSync(bytes(from), bytes(to), constants.COPYFILE_FICLONE);
  chmodSync(bytes(to), permissions(from) ?? 0o600);
}

/** Whether two files have the same permissions and bytes. */
function isSame(one: string, other: string): boolean {
  const [a, b] = [fileAt(one), fileAt(other)];
  if (a === null || b === null || a.size !== b.size || a.mode !== b.mode) return false;
  const files = [one, other].map((path) => openSync(bytes(path), 'r'));
  try {
    const parts = files.map(() => Buffer.alloc(Math.min(a.size, CHUNK_BYTES)));
    for (let at = 0; at < a.size; at += CHUNK_BYTES) {
      const [first = Buffer.alloc(0), second = Buffer.alloc(0)] = files.map((file, index) => {
        const part = parts[index] ?? Buffer.alloc(0);
        return part.subarray(0, readSync(file, part, 0, part.length, at));
      });
      if (!first.equals(second)) return false;
    }
    return true;
  } finally {
    for (const file of files) closeSync(file);
  }
}

const CHUNK_BYTES = 1024 * 1024;

function permissions(path: string): number | null {
  const found = fileAt(path);
  return found === null ? null : found.mode & 0o7777;
}

function fileAt(path: string): Stats | null {
  try {
    const found = lstatSync(bytes(path));
    return found.isFile() ? found : null;
  } catch {
    return null;
  }
}

function latin1(path: string): string {
  return Buffer.from(path).toString('latin1');
}
