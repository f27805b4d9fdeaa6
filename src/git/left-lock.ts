/**
 * The locks that a git leaves behind when it is killed in the middle of a commit, and with which every later commit fails.
 *
 * 1. A lock is removed only if it was made while a commit of ours was attempted, has not changed for 5 seconds, and no process
 *    has it open. A git of the user closes its lock before its hooks run, which may take minutes: no lock is removed
 *    while a git works in a tree of the repository, also in a container.
 * 2. Where no process can be looked at, no lock is removed.
 * 3. A lock that stays is named, with the command that removes it.
 */
import { existsSync, rmSync, statSync, writeFileSync, type Stats } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { below } from '../files/below.ts';
import { foundAt, PRIVATE_FILE } from '../files/files.ts';
import { KNOWS_OPEN_FILES, openedBy, worksIn } from '../process/open-files.ts';
import { shellQuote } from '../loop/shell-quote.ts';
import { commonFolder, execGit, GitError, gitPath, utf8, type Repository } from './git.ts';
import { listTrees } from './worktree.ts';

export class LeftLocks {
  readonly #repository: Repository;
  readonly #note: string;

  /** `folder` is where the attempts of one commit leave their notes, also those of an owner that died. */
  constructor(repository: Repository, folder: string) {
    this.#repository = repository;
    this.#note = join(folder, 'attempted');
  }

  /** Notes when the commit is attempted first; before another attempt, removes what the earlier ones left. */
  async begin(): Promise<void> {
    if (existsSync(this.#note)) await this.#remove();
    else writeFileSync(this.#note, '', { mode: PRIVATE_FILE });
  }

  /** After an attempt that failed: removes what it left, and adds to the error what became of the locks. */
  async explain(error: string): Promise<string> {
    const removed = (await this.#remove()).map((path) => `removed ${path}, which the killed git left behind`);
    // A lock that is there by chance is not the reason.
    const stay = error.includes('.lock') ? (await this.#locks()).filter((lock) => lock.found !== null) : [];
    const advice = stay.map(
      ({ path }) =>
        `${path} is locked by another git, or was left behind by one; if no git works there, remove it with: rm ${shellQuote(path)}`,
    );
    return [error, ...removed, ...advice].join('; ');
  }

  async #remove(): Promise<readonly string[]> {
    const until = Date.now();
    const since = statSync(this.#note).mtimeMs;
    const ours = (await this.#locks()).filter(({ found }) => found !== null && isMadeIn(found, since, until));
    const removed: string[] = [];
    for (const lock of ours) {
      // oxlint-disable-next-line no-await-in-loop -- one wait is enough for all of them
      if (lock.found === null || !(await this.#isLeft(lock, lock.found))) continue;
      if (inFolder(lock, (path) => (rmSync(path), true)) === true) removed.push(lock.path);
    }
    for (const path of removed)
      this.#repository.say?.(
        `removed ${path}, which a git that was killed in the middle of a commit left behind`,
      );
    return removed;
  }

  async #isLeft(lock: Lock, found: Stats): Promise<boolean> {
    if (!KNOWS_OPEN_FILES || found.uid !== process.getuid?.()) return false;
    const { interrupt } = this.#repository;
    const pause = (ms: number): Promise<void> =>
      sleep(ms, undefined, interrupt === undefined ? {} : { signal: interrupt });
    try {
      const wait = found.mtimeMs + UNCHANGED_MS - Date.now();
      if (wait > 0) await pause(wait);
      const trees = (await listTrees(this.#repository)).map(({ path }) => path);
      const folders = [...trees, await commonFolder(this.#repository)];
      // A short git, such as one of another loop, is waited for.
      for (let tries = 0; worksIn(folders, 'git'); tries++) {
        if (tries === MAX_TRIES) return false;
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        await pause(TRY_AFTER_MS);
      }
    } catch {
      return false;
    }
    const now = lockAt(lock);
    const isSame = now !== null && now.ino === found.ino && now.mtimeMs === found.mtimeMs;
    return isSame && openedBy(found).length === 0;
  }

  async #locks(): Promise<readonly Found[]> {
    try {
      const own = utf8(await gitPath(this.#repository, ['--absolute-git-dir']));
      const common = await commonFolder(this.#repository);
      const head = await execGit(this.#repository, ['symbolic-ref', '--quiet', 'HEAD']);
      const places = [
        { root: own, name: 'HEAD.lock' },
        { root: own, name: 'index.lock' },
        { root: common, name: 'packed-refs.lock' },
        ...(head.code === 0
          ? [{ root: common, name: `${utf8(head.stdout.toString('latin1').trim())}.lock` }]
          : []),
      ];
      return places.map((lock) => ({
        root: lock.root,
        name: lock.name,
        path: join(lock.root, lock.name),
        found: lockAt(lock),
      }));
    } catch (error) {
      if (!(error instanceof GitError)) throw error;
      return [];
    }
  }
}

const UNCHANGED_MS = 5000;
const TRY_AFTER_MS = 100;
/** Two seconds in total. */
const MAX_TRIES = 20;

interface Lock {
  readonly root: string;
  readonly name: string;
}

interface Found extends Lock {
  readonly path: string;
  /** Null if there is no such lock. */
  readonly found: Stats | null;
}

function lockAt(lock: Lock): Stats | null {
  const found = inFolder(lock, foundAt);
  return found?.isFile() === true ? found : null;
}

/** Follows no link on the way to a lock; null if its folder is missing or behind one. */
function inFolder<T>({ root, name }: Lock, use: (path: string) => T): T | null {
  const folders = dirname(name) === '.' ? [] : dirname(name).split('/');
  try {
    return below(root, folders, { make: false }, (folder) => use(join(folder, basename(name))));
  } catch {
    return null;
  }
}

/** A lock with the time of the note may be older: both have the time of the last tick of the kernel's clock. */
function isMadeIn({ birthtimeMs, mtimeMs }: Stats, since: number, until: number): boolean {
  const madeAt = birthtimeMs > 0 ? Math.min(birthtimeMs, mtimeMs) : mtimeMs;
  return madeAt > since && mtimeMs <= until;
}
