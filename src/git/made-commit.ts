import { parseDifferences, RAW_OPTIONS, type Difference } from './differences.ts';
import { gitLine, outputIn, utf8, type Repository } from './git.ts';

/** A commit, and where it was made. */
export interface MadeCommit {
  readonly commit: string;
  readonly tree: string;
  /** Empty for a merge, whose files git does not list. */
  readonly subject: string;
  readonly files: readonly Difference[];
  /** The branch that is checked out; null for a detached HEAD. */
  readonly branch: string | null;
}

export async function readCommit(repository: Repository, revision: string): Promise<MadeCommit> {
  const format = '--pretty=format:%H %T %P%n%s';
  const [shown, ref] = await gitLine(repository, (git) => [
    git(['diff-tree', '--root', '--always', '-r', ...RAW_OPTIONS, format, revision]),
    git(['symbolic-ref', '--quiet', '--short', 'HEAD']),
  ]);
  const [ids = '', subject = '', ...files] = outputIn(shown, 'diff-tree').split('\n');
  const [commit = '', tree = '', ...parents] = ids.split(' ');
  return {
    commit,
    tree,
    subject: parents.length > 1 ? '' : utf8(subject),
    files: parseDifferences(files.join('\n')),
    branch: ref?.code === 0 ? utf8(ref.stdout).trim() : null,
  };
}
