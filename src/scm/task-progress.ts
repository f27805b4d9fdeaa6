/** The noted progress of the SCM tasks, and the clean-up of the user's index after iterations that could not do it. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LoopFolder } from '../store/store.ts';
import { cancelCommit, findAttemptedCommit, finishCommit, hasStaged } from '../git/commit.ts';
import { GitError, type Repository } from '../git/git.ts';

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
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by `scm.ts`
    return JSON.parse(readFileSync(progressFile(place), 'utf8')) as Progress;
  } catch {
    // No task has been carried out yet.
    return { commit: null, done: [] };
  }
}

/** Finishes or cancels the staging of iterations that were killed, or that found the index locked. */
export async function tidyIndex(
  folder: LoopFolder,
  repository: Repository,
  except: string | null = null,
): Promise<void> {
  const runs = join(folder.path, 'runs');
  const places = (existsSync(runs) ? readdirSync(runs) : []).map((run) => join(runs, run, 'scm'));
  for (const place of places.filter((one) => one !== except && hasStaged(one)).toReversed()) {
    try {
      // oxlint-disable no-await-in-loop -- all change the same index
      const made = readProgress(place).commit ?? (await findAttemptedCommit(repository, place));
      await (made === null ? cancelCommit(repository, place) : finishCommit(repository, place, made));
      // oxlint-enable no-await-in-loop
    } catch (error) {
      // The note stays, so the next commit tries again.
      if (!(error instanceof GitError)) throw error;
    }
  }
}
