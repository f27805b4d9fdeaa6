/**
 * A look at the working tree that serves both the fingerprint and the checkpoint of an iteration: writing the tree finds
 * everything that `git status` would find.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { addContent, MAX_BYTES } from './fingerprint.ts';
import { noteKnown } from './differences.ts';
import { bothOf, utf8, type Repository } from './git.ts';
import { indexDifferences } from './index-entries.ts';
import { indexFile } from './index-file.ts';
import { headCommit } from './read-ref.ts';
import { stagedChanges, type Staged } from './staged.ts';
import { withTree, type Lacking } from './tree.ts';

export interface SeenTree extends Lacking {
  readonly tree: string;
}

/** Writes the working tree; `scratch` is a file that no other process uses, and stays for the next look. */
export function seeTree(repository: Repository, scratch: string): Promise<SeenTree> {
  return see(repository, scratch, false);
}

/** The same for a commit after checks, which rarely change files: it asks next what differs from HEAD. */
export async function seeTreeToCommit(repository: Repository, scratch: string): Promise<SeenTree> {
  const seen = await see(repository, scratch, true);
  await noteDifferences(repository, scratch, seen.tree);
  return seen;
}

function see(repository: Repository, scratch: string, isSameExpected: boolean): Promise<SeenTree> {
  const options = { keepsIndex: true, isSameExpected };
  return withTree(repository, scratch, async (tree, lacks) => ({ tree, ...lacks }), options);
}

/**
 * The same with a fingerprint: equal for equal files, commits and staged changes; null if the tree does not tell everything
 * about the files.
 */
export async function seeTreeAndFingerprint(
  repository: Repository,
  scratch: string,
): Promise<SeenTree & { readonly fingerprint: string | null }> {
  const [seen, staged] = await bothOf(seeTree(repository, scratch), stagedChanges(repository));
  return { ...seen, fingerprint: fingerprintOf(repository, seen, staged) };
}

/** The fingerprint of a tree that was seen before, with the commit and the staged changes of now. */
export async function fingerprintOfSeen(repository: Repository, seen: SeenTree): Promise<string | null> {
  return fingerprintOf(repository, seen, await stagedChanges(repository));
}

/** Notes what differs from HEAD, which the index shows where nothing is staged. */
async function noteDifferences(repository: Repository, scratch: string, tree: string): Promise<void> {
  const { isNothing, stamp } = await stagedChanges(repository);
  const index = isNothing ? await indexFile(repository) : null;
  const head = index === null || index.stamp !== stamp ? null : await headCommit(repository);
  const found = head === null || index === null ? null : indexDifferences(utf8(index.path), scratch);
  if (head !== null && found !== null) noteKnown(repository, head, tree, found);
}

function fingerprintOf(
  { folder }: Repository,
  { tree, large, isWhole }: SeenTree,
  { head, hash: staged }: Staged,
): string | null {
  // In a subfolder the tree does not have the files outside of it as they are.
  if (!isWhole || !existsSync(join(folder, '.git'))) return null;
  const hash = createHash('sha256').update([tree, head, staged].join('\0'));
  const top = Buffer.from(`${folder}/`).toString('latin1');
  let budget = MAX_BYTES;
  for (const path of large) budget -= addContent(hash, Buffer.from(`${top}${path}`, 'latin1'), budget);
  return hash.digest('hex');
}
