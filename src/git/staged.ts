/** What the user's index has beyond the last commit. Remembered until HEAD or the index changes. */
import { createHash } from 'node:crypto';
import { parseDifferences, RAW_OPTIONS } from './differences.ts';
import { gitOutput, type Repository } from './git.ts';
import { indexFile } from './index-file.ts';
import { emptyTree } from './refs.ts';
import { isRalphs } from './tree.ts';

/** Identifies the staged changes, but for `.ralph` folders; `head` is the tree of HEAD, empty before the first commit. */
export async function stagedChanges(repository: Repository, head: string): Promise<string> {
  const stamp = (await indexFile(repository))?.stamp ?? null;
  const known = knownStaged.get(repository.folder);
  if (known !== undefined && known.stamp === stamp && known.head === head) return known.hash;
  const base = head === '' ? await emptyTree(repository) : head;
  const args = ['diff-index', '--cached', ...RAW_OPTIONS, '--ignore-submodules=none', base];
  const listed = parseDifferences(await gitOutput(repository, args));
  const counted = listed.filter(({ path }) => !isRalphs(path));
  const hash = createHash('sha256').update(JSON.stringify(counted)).digest('hex');
  knownStaged.set(repository.folder, { head, stamp, hash });
  return hash;
}

interface Staged {
  readonly head: string;
  /** Changes with the index. */
  readonly stamp: string | null;
  readonly hash: string;
}

/** By folder. */
const knownStaged = new Map<string, Staged>();
