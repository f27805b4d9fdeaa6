/**
 * Packs the objects of records, so that thousands of loose files do not slow git down.
 *
 * 1. Only objects that a record needs and no branch, tag or remote has. The user's objects stay as they are, reachable or not,
 *    and so do their settings for garbage collection.
 * 2. A loose file is removed only if its object is in the pack that was just written. A `git gc` at the same time keeps that
 *    pack: it removes only packs that it has read before.
 * 3. The pack is written in a folder of its own and moved when it is complete: an interrupt leaves nothing behind.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { execGit, GitError, gitFailure, gitOutput, gitPath, utf8, type Repository } from './git.ts';

/** Packs what is loose, and returns the number of packed objects. */
export async function packRecords(repository: Repository): Promise<number> {
  const objects = await objectsFolder(repository);
  const place = join(objects, `${PLACE}${process.pid}-${++attempts}`);
  removeLeftovers(objects);
  try {
    mkdirSync(join(place, 'pack'), { recursive: true });
    const name = await writePack(repository, { objects, place });
    if (name === null) return 0;
    const packed = await objectsIn(repository, join(place, 'pack', `${name}.idx`));
    // Git looks for the index of a pack, so it comes last.
    const files = readdirSync(join(place, 'pack')).toSorted((a) => (a.endsWith('.idx') ? 1 : -1));
    for (const file of files) renameSync(join(place, 'pack', file), join(objects, 'pack', file));
    for (const id of packed) rmSync(join(objects, id.slice(0, 2), id.slice(2)), { force: true });
    return packed.length;
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

/** About how many loose objects there are. Counts one folder of 256, as `git gc --auto` does. */
export async function countLoose(repository: Repository): Promise<number> {
  const sample = join(await objectsFolder(repository), '17');
  return existsSync(sample) ? readdirSync(sample).length * 256 : 0;
}

async function objectsFolder(repository: Repository): Promise<string> {
  return utf8(await gitPath(repository, ['--git-path', 'objects']));
}

const PLACE = 'ralph-pack-';
let attempts = 0;

/** Removes what a process that was killed has left. */
function removeLeftovers(objects: string): void {
  for (const name of readdirSync(objects)) {
    const pid = name.startsWith(PLACE) ? Number.parseInt(name.slice(PLACE.length), 10) : 0;
    if (pid > 0 && !isRunning(pid)) rmSync(join(objects, name), { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** Writes a pack to `place` and returns its name; null if there is nothing to pack. */
async function writePack(
  repository: Repository,
  { objects, place }: { readonly objects: string; readonly place: string },
): Promise<string | null> {
  const records = await tipsOf(repository, ['refs/ralph']);
  const others = await tipsOf(repository, ['refs/heads', 'refs/tags', 'refs/remotes']);
  const input = [...records, ...others.map((id) => `^${id}`)].map((line) => `${line}\n`).join('');
  const limits = ['--threads=1', '--window-memory=256m'];
  const what = ['--revs', '--incremental', '--non-empty', '--quiet', ...limits, join(place, 'pack', 'pack')];
  const env = { GIT_OBJECT_DIRECTORY: place, GIT_ALTERNATE_OBJECT_DIRECTORIES: objects };
  const answer = await execGit(repository, ['pack-objects', ...what], env, { input, isBackground: true });
  if (answer.code !== 0) throw gitFailure(['pack-objects'], answer);
  const hash = answer.stdout.toString('latin1').trim();
  return hash === '' ? null : `pack-${hash}`;
}

async function tipsOf(repository: Repository, refs: readonly string[]): Promise<readonly string[]> {
  const listed = await gitOutput(repository, ['for-each-ref', '--format=%(objectname)', ...refs]);
  return [...new Set(listed.split('\n').filter((id) => id !== ''))];
}

/** The ids of the objects in a pack. */
async function objectsIn(repository: Repository, index: string): Promise<readonly string[]> {
  const pack = index.replace(/idx$/, 'pack');
  const listed = await gitOutput(repository, ['verify-pack', '--verbose', pack]);
  const ids = listed
    .split('\n')
    .flatMap((line) => /^([0-9a-f]{40,64}) (?:commit|tree|blob|tag)/.exec(line)?.[1] ?? []);
  if (ids.length === 0) throw new GitError(`the pack ${pack} cannot be read`);
  return ids;
}
