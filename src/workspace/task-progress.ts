/** The noted progress of the SCM tasks, and the clean-up of the user's index after iterations that could not do it. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readJsonFile } from '../files/files.ts';
import { fields, fits, list, nullable, shortText } from '../loop/shape.ts';
import { objectId } from '../git/refs.ts';
import type { LoopFolder } from '../home/home.ts';
import { cancelCommit, findAttemptedCommit, finishCommit, hasStaged } from '../git/commit.ts';
import { GitError, type Repository } from '../git/git.ts';
import { readCommit } from '../git/made-commit.ts';

export interface Progress {
  readonly commit: string | null;
  /** The tasks that were carried out. */
  readonly done: readonly string[];
}

/** The folder of an iteration's logs and notes. */
export function scmFolder(folder: LoopFolder, iteration: number): string {
  return join(folder.run(`${iteration}.1`), 'scm');
}

export function progressFile(place: string): string {
  return join(place, 'done.json');
}

export function readProgress(place: string): Progress {
  const value = readJsonFile(progressFile(place));
  // Without a note, no task has been carried out yet.
  return isProgress(value) ? value : { commit: null, done: [] };
}

function isProgress(value: unknown): value is Progress {
  return fits(PROGRESS, value);
}

const PROGRESS = fields({ commit: nullable(objectId), done: list(shortText(100_000)) });

/** Finishes or cancels the staging of iterations that were killed, or that found the index locked. */
export async function tidyIndex(
  folder: LoopFolder,
  repository: Repository,
  except: string | null = null,
): Promise<void> {
  for (const place of placesWithStaging(folder, except).toReversed()) {
    try {
      // oxlint-disable no-await-in-loop -- all change the same index
      const made = readProgress(place).commit ?? (await findAttemptedCommit(repository, place));
      await (made === null
        ? cancelCommit(repository, place)
        : finishCommit(repository, place, await readCommit(repository, made)));
      // oxlint-enable no-await-in-loop
    } catch (error) {
      // The note stays, so the next commit tries again.
      if (!(error instanceof GitError)) throw error;
    }
  }
}

/** The folders of iterations, but for one, that may have left something staged. */
function placesWithStaging(folder: LoopFolder, except: string | null): readonly string[] {
  const runs = join(folder.path, 'runs');
  const places = (existsSync(runs) ? readdirSync(runs) : []).map((run) => join(runs, run, 'scm'));
  const tidy = tidyPlaces.get(folder) ?? new Set();
  tidyPlaces.set(folder, tidy);
  if (except !== null) tidy.delete(except);
  return places.filter((place) => {
    if (place === except || tidy.has(place)) return false;
    const isUntidy = hasStaged(place);
    if (!isUntidy) tidy.add(place);
    return isUntidy;
  });
}

/** The folders of iterations that have left nothing staged, as long as a loop has this owner: only its commits stage something. */
const tidyPlaces = new WeakMap<LoopFolder, Set<string>>();
