import type { Committed } from '../engine/ports.ts';
import { GitError, gitOutput, utf8, type Repository } from '../git/git.ts';

/** Adds the subject and the number of changed files; `hide` removes secrets. */
export async function withSubject(
  made: Committed,
  repository: Repository,
  hide: (text: string) => string,
): Promise<Committed> {
  if (made.commit === null) return made;
  try {
    const listed = await gitOutput(repository, [...LIST_FILES, made.commit]);
    const [subject = '', names = ''] = utf8(listed).split(/\n(.*)/s);
    // Git prints nothing for a merge.
    return subject === '' ? made : { ...made, subject: hide(subject), files: names.split('\0').length - 1 };
  } catch (error) {
    if (error instanceof GitError) return made;
    throw error;
  }
}

/** Prints the subject on a line, then the changed files. */
const LIST_FILES = ['diff-tree', '--root', '-r', '--no-renames', '--name-only', '-z', '--pretty=format:%s'];
