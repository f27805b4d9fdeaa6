/** The records of a loop, for the commands that show them or rewind to them. */
import { existsSync } from 'node:fs';
import { treeOf } from '../home/spec.ts';
import { isInRepository } from '../git/location.ts';
import { inOrder, listRecords } from '../git/records.ts';
import type { Repository } from '../git/git.ts';
import { UserError } from '../user-error.ts';
import { withGitErrorsForUser, userGit } from './user-git.ts';
import { eachEvent, type LoopReading } from '../home/read-loop.ts';
import { startersEnvironment } from '../home/run-environment.ts';

export interface LoopRecords {
  /** Git in the loop's tree, or in the workspace if that tree is gone. */
  readonly repository: Repository;
  /** The names of the records and their commits: `start`, 1, 2, `rewind-1`. */
  readonly records: ReadonlyMap<string, string>;
  /** Whether the loop's tree still exists: a worktree may be gone. */
  readonly hasFiles: boolean;
}

/** Lists the records; refuses a loop that has none. */
export async function recordsOf({ spec, state, folder }: LoopReading): Promise<LoopRecords> {
  const tree = spec.worktree === undefined ? folder.workspace : treeOf(spec);
  const hasFiles = existsSync(tree);
  // A worktree shares its records with the workspace's repository.
  const place = hasFiles ? tree : folder.workspace;
  if (!isInRepository(place)) {
    throw new UserError(
      `${place} is not in a git repository, so "${spec.name}" has no diffs and no checkpoints; loops started after git init have them`,
    );
  }
  const env = startersEnvironment(process.env);
  const repository = userGit(state.policy, place, env);
  const records = await withGitErrorsForUser(() => listRecords(repository, spec.id));
  if (records.size === 0 && state.start === null) {
    throw new UserError(`"${spec.name}" has no records: it started without git or without checkpoints`);
  }
  return { repository, records, hasFiles };
}

/** The commit of a record; otherwise an error that lists the records. */
export function recordNamed(name: string, word: string, { records }: LoopRecords): string {
  // 03 means 3.
  const commit = records.get(/^\d+$/.test(word) ? String(Number(word)) : word);
  if (commit !== undefined) return commit;
  throw new UserError(
    `"${name}" has no checkpoint ${JSON.stringify(word)}; it has: ${listed([...records.keys()]) || 'none'}`,
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

/** The trees of the records by their names. An agent can move or remove refs, so an id in the journal comes first. */
export function treesOf(
  { folder, state, trouble }: LoopReading,
  { records }: LoopRecords,
): ReadonlyMap<string, string> {
  const trees = new Map(records);
  if (state.start !== null) trees.set('start', state.start.tree);
  if (trouble !== null) return trees;
  eachEvent(folder, (event) => {
    if (event.type === 'checkpoint.taken' && event.tree !== undefined)
      trees.set(String(event.iteration), event.tree);
  });
  return inOrder(trees);
}
