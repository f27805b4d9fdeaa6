/**
 * The refs that Ralph needs: HEAD, which belongs to the user, and its own records in `refs/ralph/`. Git reads and writes
 * them, and finds HEAD anew each time.
 */
import { inQuotes } from '../loop/shell-quote.ts';
import { gitLine, gitOutput, outputIn, resolveRevision, type OneGit, type Repository } from './git.ts';
import { rule, type Rule } from '../loop/shape.ts';

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

/**
 * Records a tree under a name in `refs/ralph/`, as a commit on top of another record or of HEAD. The parent shows what
 * the tree differs from, and the ref protects it from garbage collection.
 */
export async function recordTree(
  repository: Repository,
  { ref, tree, message, trailers = [], on = null, mayBeHead = false }: NewRecord,
): Promise<void> {
  const paragraphs = [message, ...(trailers.length === 0 ? [] : [trailers.join('\n')])];
  const commands = (git: OneGit): readonly string[] => {
    // Git answers for what is there: nothing before the first commit, or if HEAD is not newer than the record.
    const [head, parent] =
      on === null
        ? [git(['rev-parse', '--revs-only', 'HEAD^{commit}']), '${1:+-p $1}']
        : [mayBeHead ? git(['log', '-1', '--format=%H %T', `${on}..HEAD`]) : '', `-p ${inQuotes(on)}`];
    const make = `${git(['commit-tree', tree], IDENTITY)} ${parent}`;
    return [
      `set -- $(${head}); commit=$1; [ "$2" = ${tree} ] || commit=$(${make})`,
      `[ -n "$commit" ] && ${git(['update-ref', '--no-deref', ref])} "$commit"`,
    ];
  };
  // Not as an argument: a list of files may be too long for one.
  const input = `${paragraphs.join('\n\n')}\n`;
  const [commit, written] = await gitLine(repository, commands, { input });
  outputIn(commit, 'commit-tree');
  outputIn(written, 'update-ref');
}

export interface NewRecord {
  readonly ref: string;
  readonly tree: string;
  readonly message: string;
  /** `Ralph-Iteration: 7`. */
  readonly trailers?: readonly string[];
  /** The ref or the commit of the record before it; null or absent for HEAD. */
  readonly on?: string | null;
  /** Whether the ref leads to HEAD itself, if that has this tree and is newer than the record before it. */
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

/** The id of a commit or a tree, as git writes it. Any other text could be read as an option or a revision. */
export const objectId: Rule = rule(
  'the id of a git object',
  (value) => typeof value === 'string' && /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(value),
);
