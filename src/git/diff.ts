import { execGit, resolveRevision, type Repository } from './git.ts';
import { writeTree } from './tree.ts';

/**
 * The diff of everything below the workspace since a record, new files included, cut after `bytes`; empty if git fails.
 * It ignores the user's diff settings and runs no external diff or textconv program.
 */
export async function diffSince(
  repository: Repository,
  ref: string,
  { scratch, bytes }: { readonly scratch: string; readonly bytes: number },
): Promise<Buffer> {
  const start = await resolveRevision(repository, `${ref}^{tree}`);
  if (start === null) return EMPTY;
  const now = await writeTree(repository, scratch);
  const options = ['diff-tree', '-r', '-p', '-M', '--no-ext-diff', '--no-textconv', '--no-color'];
  const args = [...options, '--src-prefix=a/', '--dst-prefix=b/', start, now, '--', '.'];
  const answer = await execGit(repository, args, {}, { stopAfterBytes: bytes, timeoutMs: TIMEOUT_MS });
  return answer.code === 0 ? answer.stdout : EMPTY;
}

const EMPTY = Buffer.alloc(0);
const TIMEOUT_MS = 10_000;
