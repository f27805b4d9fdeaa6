/**
 * A look at the working tree that serves both the fingerprint and the checkpoint of an iteration: writing the tree finds
 * everything that `git status` would find.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { RAW_OPTIONS } from './differences.ts';
import { addContent, ALL_BUT_RALPH, MAX_BYTES } from './fingerprint.ts';
import { gitOutput, type Repository } from './git.ts';
import { indexFile } from './index-file.ts';
import { headCommit, readCommit } from './read-ref.ts';
import { emptyTree, withTree, type Lacking } from './tree.ts';

export interface SeenTree extends Lacking {
  readonly tree: string;
}

/** Writes the working tree; `scratch` is a file that no other process uses, and stays for the next look. */
export function seeTree(repository: Repository, scratch: string): Promise<SeenTree> {
  return withTree(repository, scratch, async (tree, lacks) => ({ tree, ...lacks }), { keepsIndex: true });
}

/**
 * The same with a fingerprint: equal for equal files, commits and staged changes; null if the tree does not tell everything
 * about the files.
 */
export async function seeTreeAndFingerprint(
  repository: Repository,
  scratch: string,
): Promise<SeenTree & { readonly fingerprint: string | null }> {
  const [seen, committed] = await Promise.all([seeTree(repository, scratch), committedAndStaged(repository)]);
  return { ...seen, fingerprint: fingerprintOf(repository, seen, committed) };
}

function fingerprintOf(
  { folder }: Repository,
  { tree, large, isWhole }: SeenTree,
  committed: readonly string[],
): string | null {
  // In a subfolder the tree does not have the files outside of it as they are.
  if (!isWhole || !existsSync(join(folder, '.git'))) return null;
  const hash = createHash('sha256').update([tree, ...committed].join('\0'));
  const top = Buffer.from(`${folder}/`).toString('latin1');
  let budget = MAX_BYTES;
  for (const path of large) budget -= addContent(hash, Buffer.from(`${top}${path}`, 'latin1'), budget);
  return hash.digest('hex');
}

/** The tree of HEAD, empty before the first commit, and what the index has beyond it. */
async function committedAndStaged(repository: Repository): Promise<readonly string[]> {
  const commit = await headCommit(repository);
  const head = commit === null ? '' : (await readCommit(repository, commit)).tree;
  const stamp = `${head} ${(await indexFile(repository))?.stamp ?? ''}`;
  const known = knownStaged.get(repository.folder);
  if (known?.stamp === stamp) return [head, known.staged];
  const base = head === '' ? await emptyTree(repository) : head;
  const args = ['diff-index', '--cached', ...RAW_OPTIONS, '--ignore-submodules=none', base];
  const staged = await gitOutput(repository, [...args, ...ALL_BUT_RALPH]);
  const id = createHash('sha256').update(staged).digest('hex');
  knownStaged.set(repository.folder, { stamp, staged: id });
  return [head, id];
}

/** By folder; valid while HEAD and the index are the same. */
const knownStaged = new Map<string, { readonly stamp: string; readonly staged: string }>();
