/** What is on record of a loop, for whoever wants to look at it or go back to it. */
import { existsSync } from 'node:fs';
import { treeOf } from '../store/spec.ts';
import { isInRepository } from '../git/fingerprint.ts';
import { listRecords } from '../git/records.ts';
import type { Repository } from '../git/git.ts';
import { UserError } from '../user-error.ts';
import { inWords } from './git.ts';
import type { LoopReading } from '../store/read-loop.ts';
import { startersEnvironment } from '../store/run-environment.ts';
import { gitOf } from './start.ts';

export interface LoopRecords {
  /** Git, where the loop's work is done. */
  readonly repository: Repository;
  /** The names of the records and their commits: `start`, 1, 2, `rewind-1`. */
  readonly records: ReadonlyMap<string, string>;
  /** Whether the files are there that the loop works on: a worktree may be gone. */
  readonly hasFiles: boolean;
}

/** Refuses a loop of which nothing can be on record. */
export async function recordsOf({ spec, state, folder }: LoopReading): Promise<LoopRecords> {
  const tree = spec.worktree === undefined ? folder.workspace : treeOf(spec);
  const hasFiles = existsSync(tree);
  // The records of a worktree are those of its repository.
  const place = hasFiles ? tree : folder.workspace;
  if (!isInRepository(place)) {
    throw new UserError(
      `${place} is not in a git repository: there are no diffs and no checkpoints of "${spec.name}"; loops that begin after git init have them`,
    );
  }
  const env = startersEnvironment(process.env);
  const repository = gitOf(state.policy, place, env);
  const records = await inWords(() => listRecords(repository, spec.id));
  if (records.size === 0) {
    throw new UserError(
      `nothing is on record of "${spec.name}": it began without git, or without checkpoints`,
    );
  }
  return { repository, records, hasFiles };
}

/** The commit of a record; a message that says which there are, if there is none. */
export function recordNamed(name: string, word: string, { records }: LoopRecords): string {
  // 03 is 3.
  const commit = records.get(/^\d+$/.test(word) ? String(Number(word)) : word);
  if (commit !== undefined) return commit;
  throw new UserError(
    `"${name}" has no checkpoint ${JSON.stringify(word)}; there are: ${listed([...records.keys()])}`,
  );
}

/** `start, 1 to 7, 9, rewind-1`. */
function listed(names: readonly string[]): string {
  const shown: string[] = [];
  let first: number | null = null;
  names.forEach((name, index) => {
    const number = Number(name);
    const follows = Number(names[index + 1]) === number + 1;
    if (follows) first ??= number;
    else if (first === null) shown.push(name);
    else {
      shown.push(first + 1 === number ? `${first}, ${number}` : `${first} to ${number}`);
      first = null;
    }
  });
  return shown.join(', ');
}
