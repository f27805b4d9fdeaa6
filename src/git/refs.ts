/**
 * The refs that Ralph needs: HEAD, which belongs to the user, and its own records in `refs/ralph/`. Git reads and writes
 * them, and finds HEAD anew each time.
 */
import {
  GitError,
  gitLine,
  gitOutput,
  outputIn,
  resolveRevision,
  resolveRevisions,
  type OneGit,
  type Repository,
} from './git.ts';

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

/** The tree of a record, the commit below it, and HEAD; the empty tree takes the place of a commit that is missing. */
export async function readRecord(repository: Repository, ref: string): Promise<Record> {
  const asked = [`${ref}^{tree}`, `${ref}^1`, 'HEAD^{commit}'];
  const [tree = null, base = null, head = null] = await resolveRevisions(repository, asked);
  if (tree === null) throw new GitError(`the record of the loop's start is gone: ${ref}`);
  const empty = base === null || head === null ? await emptyTree(repository) : '';
  return { tree, base: base ?? empty, head: head ?? empty };
}

interface Record {
  readonly tree: string;
  readonly base: string;
  readonly head: string;
}

/**
 * Records a tree under a name in `refs/ralph/`, as a commit on top of another record or of HEAD. The parent shows what
 * the tree differs from, and the ref protects it from garbage collection. Returns the tree of HEAD, empty before the first
 * commit; null, without a record, if there is no other record of that name.
 */
export async function recordTree(
  repository: Repository,
  { ref, tree, message, trailers = [], on = null, mayBeHead = false }: NewRecord,
): Promise<string | null> {
  const paragraphs = [message, ...(trailers.length === 0 ? [] : [trailers.join('\n')])];
  const commands = (git: OneGit): readonly string[] => {
    const before = on === null ? [] : [`${on}^{commit}`];
    const found = git(['rev-parse', '--revs-only', ...before, 'HEAD^{commit}', 'HEAD^{tree}']);
    const parent = on === null ? '${head:+-p $head}' : '-p "$on"';
    const make = `commit=$(${git(['commit-tree', tree], IDENTITY)} ${parent})`;
    const isOld = `${git(['merge-base', '--is-ancestor'])} "$head" "$on"`;
    return [
      // Git answers for what is there: HEAD has two lines or none.
      `set -- $(${found}); on=; [ $(($# % 2)) = 0 ] || { on=$1; shift; }; head=$1; printf '%s %s' "$on" "$2"`,
      mayBeHead ? `if [ "$2" = ${tree} ] && ! ${isOld}; then commit=$head; else ${make}; fi` : make,
      `[ -n "$commit" ] && ${git(['update-ref', '--no-deref', ref])} "$commit"`,
    ];
  };
  // Not as an argument: a list of files may be too long for one.
  const input = `${paragraphs.join('\n\n')}\n`;
  const [ids, commit, written] = await gitLine(repository, commands, { input });
  const [before, head = ''] = outputIn(ids, 'rev-parse').split(' ');
  if (on !== null && before === '') return null;
  outputIn(commit, 'commit-tree');
  outputIn(written, 'update-ref');
  return head;
}

export interface NewRecord {
  readonly ref: string;
  readonly tree: string;
  readonly message: string;
  /** `Ralph-Iteration: 7`. */
  readonly trailers?: readonly string[];
  /** The ref or the commit of the record before it; null or absent for HEAD. */
  readonly on?: string | null;
  /** Whether the ref may lead to HEAD itself, if that has this tree and is newer than the record before it, which must be given. */
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
