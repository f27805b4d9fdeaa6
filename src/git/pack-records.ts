/**
 * Packs the objects of records, so that thousands of loose files do not slow git down.
 *
 * 1. Only objects that a record needs and no branch, tag or remote has. The user's objects stay as they are, reachable or not,
 *    and so do their settings for garbage collection.
 * 2. A loose file is removed only if its object is in the pack that was just written. A `git gc` at the same time keeps that
 *    pack: it removes only packs that it has read before.
 * 3. No link below the git folder is followed: an agent may be writing there.
 * 4. The pack is written in a folder of its own and moved when it is complete: an interrupt leaves nothing behind.
 */
import { mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { below } from '../files/below.ts';
import { foundAt } from '../files/files.ts';
import { commonFolder, execGit, GitError, gitFailure, gitOutput, type Repository } from './git.ts';

/** Packs what is loose, and returns the number of packed objects. */
export async function packRecords(repository: Repository): Promise<number> {
  const common = await commonFolder(repository);
  const place = `${PLACE}${process.pid}-${++attempts}`;
  const inObjects = <T>(parts: readonly string[], use: (folder: string) => T): T =>
    below(common, ['objects', ...parts], { make: false }, use);
  inObjects([], removeLeftovers);
  try {
    inObjects([], (folder) => mkdirSync(join(folder, place, 'pack'), { recursive: true }));
    const objects = join(common, 'objects');
    const name = await writePack(repository, { objects, place: join(objects, place) });
    if (name === null) return 0;
    const packed = await objectsIn(repository, join(objects, place, 'pack', `${name}.idx`));
    inObjects([place, 'pack'], (from) =>
      inObjects(['pack'], (to) => {
        // Git looks for the index of a pack, so it comes last.
        const files = readdirSync(from).toSorted((a) => (a.endsWith('.idx') ? 1 : -1));
        for (const file of files) renameSync(join(from, file), join(to, file));
      }),
    );
    const loose = new Set(inObjects([], (folder) => readdirSync(folder)));
    for (const id of packed)
      if (loose.has(id.slice(0, 2)))
        inObjects([id.slice(0, 2)], (folder) => rmSync(join(folder, id.slice(2)), { force: true }));
    return packed.length;
  } finally {
    inObjects([], (folder) => rmSync(join(folder, place), { recursive: true, force: true }));
  }
}

/** About how many loose objects there are. Counts one folder of 256, as `git gc --auto` does. */
export async function countLoose(repository: Repository): Promise<number> {
  const sample = join(await commonFolder(repository), 'objects', '17');
  return foundAt(sample)?.isDirectory() === true ? readdirSync(sample).length * 256 : 0;
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

/** Packs the objects of checkpoints in the background, once there are many. A failure changes nothing and is not reported. */
export class Packing {
  readonly #stop = new AbortController();
  #running: Promise<void> | null = null;
  /** How many loose objects were left the last time: the user's, which stay. */
  #left = 0;

  /** Call after a checkpoint. */
  consider(repository: Repository): void {
    if (this.#running !== null || this.#stop.signal.aborted) return;
    this.#running = this.#pack({ ...repository, interrupt: this.#stop.signal })
      .catch(() => {})
      .finally(() => {
        this.#running = null;
      });
  }

  /** Ends what is running. */
  async end(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #pack(repository: Repository): Promise<void> {
    if ((await countLoose(repository)) < this.#left + MANY) return;
    await packRecords(repository);
    this.#left = await countLoose(repository);
  }
}

/** Git's own limit is 6,700, but people switch it off. */
const MANY = 5000;
