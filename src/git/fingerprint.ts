import { createHash, type Hash } from 'node:crypto';
import { existsSync, lstatSync, readFileSync, readlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { exec } from '../process/exec.ts';

/**
 * A hash of the tree of HEAD, the files that differ from it, and their contents: commits with the same files give the same
 * hash. Null outside of a repository. Ignored files and `.ralph` do not count.
 */
export async function fingerprint(
  workspace: string,
  env: Readonly<Record<string, string>>,
): Promise<string | null> {
  if (!isInRepository(workspace)) return null;
  // Without locks, so that the agent's own git commands do not fail.
  const options = { cwd: workspace, env: { ...env, GIT_OPTIONAL_LOCKS: '0' } };
  const statusNow = exec(
    // Without fsmonitor, because that is a program of the user's choice.
    [
      'git',
      '-c',
      'core.fsmonitor=false',
      'status',
      '--porcelain=v2',
      '--untracked-files=all',
      '-z',
      '--',
      ':/',
      ':(exclude,top,glob)**/.ralph/**',
    ],
    options,
  );
  const headNow = exec(['git', 'rev-parse', '--quiet', '--verify', 'HEAD^{tree}'], options);
  const [status, head] = [await statusNow, await headNow];
  if (status === null || status.code !== 0) return null;
  const top = await topLevel(workspace, env);
  // Before the first commit there is no tree.
  const hash = createHash('sha256')
    .update(head?.code === 0 ? head.stdout : '')
    .update(status.stdout);
  const paths = changedPaths(status.stdout.toString('utf8'));
  let budget = MAX_BYTES;
  for (const path of paths) {
    const file = join(top ?? workspace, path);
    budget -= addContent(hash, file, budget);
    // A submodule or another repository inside of this one.
    // oxlint-disable-next-line no-await-in-loop -- rare, and the order counts
    if (existsSync(join(file, '.git'))) hash.update((await fingerprint(file, env)) ?? '');
  }
  return hash.digest('hex');
}

/** Whether a folder is in a repository. Cheaper than running git. */
export function isInRepository(folder: string): boolean {
  return existsSync(join(folder, '.git')) || (dirname(folder) !== folder && isInRepository(dirname(folder)));
}

/** The limit for all files together; files beyond it count by size and time only. */
const MAX_BYTES = 64 * 1024 * 1024;

/** By workspace: that of the loop, and the repositories inside of it. */
const knownTops = new Map<string, string | null>();
async function topLevel(workspace: string, env: Readonly<Record<string, string>>): Promise<string | null> {
  const known = knownTops.get(workspace);
  if (known !== undefined) return known;
  const found = await exec(['git', 'rev-parse', '--show-toplevel'], { cwd: workspace, env });
  const top = found?.code === 0 ? found.stdout.toString('utf8').replace(/\n$/, '') : null;
  knownTops.set(workspace, top);
  return top;
}

/** The files in the output of `git status --porcelain=v2 -z`. */
function changedPaths(status: string): readonly string[] {
  const entries = status.split('\0');
  const paths: string[] = [];
  for (let index = 0; index < entries.length; index++) {
    const entry = entries[index] ?? '';
    const field = (count: number): string => entry.split(' ').slice(count).join(' ');
    if (entry.startsWith('1 ')) paths.push(field(8));
    else if (entry.startsWith('u ')) paths.push(field(10));
    else if (entry.startsWith('? ')) paths.push(field(1));
    else if (entry.startsWith('2 ')) {
      paths.push(field(9));
      // The old name is a separate entry.
      index++;
    }
  }
  return paths;
}

/** Hashes a file and returns how many bytes were read. */
function addContent(hash: Hash, path: string, budget: number): number {
  try {
    const { size, mtimeMs, mode } = lstatSync(path);
    const kind = mode & 0o170000;
    hash.update(`\0${path}\0${mode}\0`);
    if (kind === 0o120000) hash.update(readlinkSync(path));
    else if (kind === 0o100000 && size <= budget) {
      hash.update(readFileSync(path));
      return size;
    } else if (kind !== 0o040000) hash.update(`${size} ${mtimeMs}`);
  } catch {
    hash.update(`\0${path}\0gone`);
  }
  return 0;
}
