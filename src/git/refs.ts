/**
 * The refs that Ralph needs: HEAD, which belongs to the user, and its own records in `refs/ralph/`. Git reads and writes
 * them, and finds HEAD anew each time.
 */
import { bothOf, GitError, gitLine, gitOutput, outputIn, resolveRevision, type Repository } from './git.ts';

/** The commit that is checked out; null before the first commit. */
export function headCommit(repository: Repository): Promise<string | null> {
  return resolveRevision(repository, 'HEAD^{commit}');
}

/** The commit that is checked out, or the empty tree before the first commit. */
export async function headOrEmpty(repository: Repository): Promise<string> {
  return (await headCommit(repository)) ?? emptyTree(repository);
}

/** The id of a tree without files. */
export async function emptyTree(repository: Repository): Promise<string> {
  return (await gitOutput(repository, ['hash-object', '-t', 'tree', '/dev/null'])).trim();
}

/** The ref of a loop's record: `start`, the number of a checkpoint, or `rewind-1`. */
export function recordName(loop: string, what: string): string {
  return `refs/ralph/${loop.replaceAll(/\.{2,}/g, '.')}/${what}`;
}

/** The tree of a record and the commit below it, or the empty tree if there was no commit. */
export async function readRecord(
  repository: Repository,
  ref: string,
): Promise<{ readonly tree: string; readonly base: string }> {
  const [tree, base] = await bothOf(
    resolveRevision(repository, `${ref}^{tree}`),
    resolveRevision(repository, `${ref}^1`),
  );
  if (tree === null) throw new GitError(`the record of the loop's start is gone: ${ref}`);
  return { tree, base: base ?? (await emptyTree(repository)) };
}

/**
 * Records a tree under a name in `refs/ralph/`, as a commit on top of another record or of HEAD. The parent shows what
 * the tree differs from, and the ref protects it from garbage collection. Returns the tree of HEAD; empty before the first commit.
 */
export async function recordTree(
  repository: Repository,
  { ref, tree, message, trailers = [], on = null, mayBeHead = false }: NewRecord,
): Promise<string> {
  const paragraphs = [message, ...(trailers.length === 0 ? [] : [trailers.join('\n')])];
  const [head, commit, written] = await gitLine(
    repository,
    (git) => {
      const resolve = git(['rev-parse', '--verify', '--quiet']);
      const parent = on === null ? '${head:+-p "$head"}' : `-p ${on}`;
      const make = `commit=$(${git(['commit-tree', tree], IDENTITY)} ${parent})`;
      const isNew = `! ${git(['merge-base', '--is-ancestor'])} "$head" ${on}`;
      const takeHead = `if [ "$tree" = ${tree} ] && ${isNew}; then commit=$head; else ${make}; fi`;
      return [
        `head=$(${resolve} 'HEAD^{commit}') && tree=$(${resolve} "$head^{tree}") && printf %s "$tree"`,
        mayBeHead && on !== null ? takeHead : make,
        `[ -n "$commit" ] && ${git(['update-ref', '--no-deref', ref])} "$commit"`,
      ];
    },
    // Not as an argument: a list of files may be too long for one.
    { input: `${paragraphs.join('\n\n')}\n` },
  );
  const headTree = outputIn(head, 'rev-parse', [0, 1]);
  outputIn(commit, 'commit-tree');
  outputIn(written, 'update-ref');
  return headTree;
}

export interface NewRecord {
  readonly ref: string;
  readonly tree: string;
  readonly message: string;
  /** `Ralph-Iteration: 7`. */
  readonly trailers?: readonly string[];
  /** The commit of the record before it. */
  readonly on?: string | null;
  /** Whether the ref may lead to HEAD itself, if that has this tree and is newer than the record before it. */
  readonly mayBeHead?: boolean;
}

const NAME = 'ralph';
const EMAIL = 'ralph@localhost';
const IDENTITY = {
  GIT_AUTHOR_NAME: NAME,
  GIT_AUTHOR_EMAIL: EMAIL,
  GIT_COMMITTER_NAME: NAME,
  GIT_COMMITTER_EMAIL: EMAIL,
};
