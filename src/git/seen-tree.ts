/**
 * A look at the working tree that serves both the fingerprint and the checkpoint of an iteration: writing the tree finds
 * everything that `git status` would find.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { addContent, MAX_BYTES } from './fingerprint.ts';
import { type Repository, gitOutput } from './git.ts';
import { withTree, type SeenTree, isRalphs } from './tree.ts';
import { parseDifferences, RAW_OPTIONS } from './differences.ts';
import { indexFile } from './index-file.ts';
import { emptyTree } from './refs.ts';

/** Writes the working tree; `scratch` is a file that no other process uses, and stays for the next look. */
export function seeTree(repository: Repository, scratch: string): Promise<SeenTree> {
  return withTree(repository, scratch, async (seen) => seen, { keepsIndex: true });
}

/**
 * The fingerprint of a tree that was seen: equal for equal files, commits and staged changes; null if the tree does not tell
 * everything about the files.
 */
export async function fingerprintOfSeen(
  repository: Repository,
  { tree, head, large, isWhole }: SeenTree,
): Promise<string | null> {
  const { folder } = repository;
  // In a subfolder the tree does not have the files outside of it as they are.
  if (!isWhole || !existsSync(join(folder, '.git'))) return null;
  const staged = await stagedChanges(repository, head);
  const hash = createHash('sha256').update([tree, head, staged].join('\0'));
  const top = Buffer.from(`${folder}/`).toString('latin1');
  let budget = MAX_BYTES;
  for (const path of large) budget -= addContent(hash, Buffer.from(`${top}${path}`, 'latin1'), budget);
  return hash.digest('hex');
}

/**
 * Identifies the staged changes, but for `.ralph` folders. Remembered until HEAD or the index changes. `head` is the tree of HEAD,
 * empty before the first commit.
 */
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
