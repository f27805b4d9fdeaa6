/** What the user's index has beyond the last commit. Remembered until HEAD or the index changes. */
import { createHash } from 'node:crypto';
import { parseDifferences, RAW_OPTIONS, type Difference } from './differences.ts';
import { gitOutput, type Repository } from './git.ts';
import { indexFile } from './index-file.ts';
import { headCommit, readCommit } from './read-ref.ts';
import { emptyTree, isRalphs } from './tree.ts';

export interface Staged {
  /** The tree of HEAD; empty before the first commit. */
  readonly head: string;
  /** Changes with the index. */
  readonly stamp: string | null;
  /** Whether the index is the tree of HEAD. */
  readonly isNothing: boolean;
  /** Identifies the staged changes, but for `.ralph` folders. */
  readonly hash: string;
}

export async function stagedChanges(repository: Repository): Promise<Staged> {
  const commit = await headCommit(repository);
  const head = commit === null ? '' : (await readCommit(repository, commit)).tree;
  const stamp = (await indexFile(repository))?.stamp ?? null;
  const known = knownStaged.get(repository.folder);
  if (known !== undefined && known.stamp === stamp && known.head === head) return known;
  const base = head === '' ? await emptyTree(repository) : head;
  const args = ['diff-index', '--cached', ...RAW_OPTIONS, '--ignore-submodules=none', base];
  const listed = parseDifferences(await gitOutput(repository, args));
  const counted = listed.filter(({ path }) => !isRalphs(path));
  const found = { head, stamp, isNothing: listed.length === 0, hash: hashOf(counted) };
  knownStaged.set(repository.folder, found);
  return found;
}

/** To be called after a commit of this tree: the index with this stamp has the same. */
export function rememberNothingStaged({ folder }: Repository, tree: string, stamp: string): void {
  knownStaged.set(folder, { head: tree, stamp, isNothing: true, hash: hashOf([]) });
}

function hashOf(staged: readonly Difference[]): string {
  return createHash('sha256').update(JSON.stringify(staged)).digest('hex');
}

/** By folder. */
const knownStaged = new Map<string, Staged>();
