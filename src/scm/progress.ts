/** What was done of the tasks of the version control, as it was written down, and what of it is still to be cleared up. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LoopFolder } from '../store/store.ts';
import { hasStaged, madeBefore, settle, takeBack } from '../git/commit.ts';
import { GitError, type Repository } from '../git/git.ts';

export interface Progress {
  readonly commit: string | null;
  readonly done: readonly string[];
}

/** Where an iteration's tasks have their logs and notes. */
export function scmFolder(folder: LoopFolder, iteration: number): string {
  return join(folder.run(`${iteration}.1`), 'scm');
}

export function progressFile(place: string): string {
  return join(place, 'done.json');
}

export function progressIn(place: string): Progress {
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by `scm.ts`
    return JSON.parse(readFileSync(progressFile(place), 'utf8')) as Progress;
  } catch {
    // Nobody has begun.
    return { commit: null, done: [] };
  }
}

/** Brings the user's index in order after iterations that could not, since somebody held it or they were killed. */
export async function tidyIndex(
  folder: LoopFolder,
  repository: Repository,
  except: string | null = null,
): Promise<void> {
  const runs = join(folder.path, 'runs');
  const places = (existsSync(runs) ? readdirSync(runs) : []).map((run) => join(runs, run, 'scm'));
  for (const place of places.filter((one) => one !== except && hasStaged(one)).toReversed()) {
    try {
      // oxlint-disable no-await-in-loop -- there is one index
      const made = progressIn(place).commit ?? (await madeBefore(repository, place));
      await (made === null ? takeBack(repository, place) : settle(repository, place, made));
      // oxlint-enable no-await-in-loop
    } catch (error) {
      // The note stays, and it is tried again.
      if (!(error instanceof GitError)) throw error;
    }
  }
}
