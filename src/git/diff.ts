import { ask, resolve, type Repository } from './git.ts';
import { writeTree } from './tree.ts';

/**
 * What has changed below the workspace since a record was made, new files too, as far as that many bytes go; nothing
 * where git cannot tell. It depends on nobody's settings, and no program of the user's has a hand in it.
 */
export async function diffSince(
  repository: Repository,
  ref: string,
  { scratch, bytes }: { readonly scratch: string; readonly bytes: number },
): Promise<Buffer> {
  const start = await resolve(repository, `${ref}^{tree}`);
  if (start === null) return NOTHING;
  const now = await writeTree(repository, scratch);
  const args = ['diff-tree', '-r', '-p', '-M', '--no-ext-diff', '--no-textconv', '--no-color'];
  const shown = [...args, '--src-prefix=a/', '--dst-prefix=b/', start, now, '--', '.'];
  const answer = await ask(repository, shown, {}, { enoughBytes: bytes, patienceMs: PATIENCE_MS });
  return answer.code === 0 ? answer.stdout : NOTHING;
}

const NOTHING = Buffer.alloc(0);
const PATIENCE_MS = 10_000;
