/**
 * Exact copies of files that git would not give back as they are: a filter or the line ends lose something on the way in,
 * and of the permissions it knows only whether a file can be run.
 *
 * They lie in a folder under the names that they have from the top of the repository. All paths are in Latin 1: one
 * character a byte.
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
import { ask, failed, prefixOf, topOf, type Repository } from './git.ts';

/** A file that is about to be changed or removed. */
export interface Endangered {
  readonly path: string;
  /** As git has it on record: `100755`. */
  readonly mode: string;
}

/** Copies those of the files that would not come back from the index as they are now; tells how many. */
export async function keepExact(
  repository: Repository,
  files: readonly Endangered[],
  { index, folder, scratch }: { readonly index: string; readonly folder: string; readonly scratch: string },
): Promise<number> {
  const top = await topOf(repository);
  const there = files.filter(({ path }) => fileAt(`${top}/${path}`) !== null);
  const converted = await convertedAmong(repository, there);
  const umask = process.umask();
  const hasStrangeMode = ({ path, mode }: Endangered): boolean =>
    permissions(`${top}/${path}`) !== ((mode === '100755' ? 0o777 : 0o666) & ~umask);
  try {
    await checkOut(repository, converted, index, scratch);
    const mayDiffer = new Set(converted);
    const isLost = (file: Endangered): boolean =>
      mayDiffer.has(file)
        ? !isSame(`${top}/${file.path}`, `${latin1(scratch)}/${file.path}`)
        : hasStrangeMode(file);
    const lost = there.filter(isLost);
    for (const { path } of lost) copy(`${top}/${path}`, `${latin1(folder)}/${path}`);
    return lost.length;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** The files of which there are copies in a folder, and that are not the same by now. */
export async function differingFrom(repository: Repository, folder: string): Promise<readonly string[]> {
  const copies = filesBelow(latin1(folder));
  if (copies.length === 0) return [];
  const top = await topOf(repository);
  return copies.filter((path) => !isSame(`${latin1(folder)}/${path}`, `${top}/${path}`));
}

/** Makes files exactly what their copies are. */
export async function bringBack(
  repository: Repository,
  folder: string,
  paths: readonly string[],
): Promise<void> {
  const top = await topOf(repository);
  for (const path of paths) copy(`${latin1(folder)}/${path}`, `${top}/${path}`);
}

/** Those in which something may be changed on the way into a record or back. */
async function convertedAmong(
  repository: Repository,
  files: readonly Endangered[],
): Promise<readonly Endangered[]> {
  if (files.length === 0) return [];
  const names = await namesHere(repository, files);
  const order = ['check-attr', '-z', '--stdin', ...ATTRIBUTES];
  const answer = await ask(repository, order, {}, { input: listed(names) });
  if (answer.code !== 0) throw failed(order, answer);
  const fields = answer.stdout.toString('latin1').split('\0');
  const setting = await ask(repository, ['config', '--get', 'core.autocrlf']);
  const isPlain = /^(?:false|no|off|0|)$/i.test(setting.stdout.toString('latin1').trim());
  return files.filter((_, at) => {
    const first = at * ATTRIBUTES.length;
    const values = ATTRIBUTES.map((__, index) => fields[(first + index) * 3 + 2]);
    const isText = values[0] !== 'unset' && values[1] !== 'unset';
    return values.some((value) => value !== 'unspecified' && value !== 'unset') || (isText && !isPlain);
  });
}

const ATTRIBUTES = ['text', 'crlf', 'eol', 'filter', 'ident', 'working-tree-encoding'];

/** As git would check them out, in a folder of their own; what it cannot check out is not there. */
async function checkOut(
  repository: Repository,
  files: readonly Endangered[],
  index: string,
  into: string,
): Promise<void> {
  rmSync(into, { recursive: true, force: true });
  if (files.length === 0) return;
  const order = ['checkout-index', '--quiet', `--prefix=${into}/`, '-z', '--stdin'];
  const input = listed(await namesHere(repository, files));
  await ask(repository, order, { GIT_INDEX_FILE: index }, { input });
}

/** By their names from the workspace. */
async function namesHere(repository: Repository, files: readonly Endangered[]): Promise<readonly string[]> {
  const prefix = await prefixOf(repository);
  return files.map(({ path }) => path.slice(prefix.length));
}

function listed(names: readonly string[]): Buffer {
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
  // Whoever else has this file under another name keeps it.
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
    const parts = files.map(() => Buffer.alloc(Math.min(a.size, PIECE)));
    for (let at = 0; at < a.size; at += PIECE) {
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

const PIECE = 1024 * 1024;

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

function bytes(path: string): Buffer {
  return Buffer.from(path, 'latin1');
}

function latin1(path: string): string {
  return Buffer.from(path).toString('latin1');
}
