import type { Committed } from '../engine/ports.ts';
import { GitError, tell, utf8, type Repository } from '../git/git.ts';

/** The same commit with what people want to know of it, as far as git tells; `hide` takes secrets out. */
export async function withSubject(
  made: Committed,
  repository: Repository,
  hide: (text: string) => string,
): Promise<Committed> {
  if (made.commit === null) return made;
  try {
    const listed = await tell(repository, [...LIST, made.commit]);
    const [subject = '', names = ''] = utf8(listed).split(/\n(.*)/s);
    // Of a merge nothing is listed.
    return subject === '' ? made : { ...made, subject: hide(subject), files: names.split('\0').length - 1 };
  } catch (error) {
    if (error instanceof GitError) return made;
    throw error;
  }
}

/** Its subject on a line, then the files that are not as they were before it. */
const LIST = ['diff-tree', '--root', '-r', '--no-renames', '--name-only', '-z', '--pretty=format:%s'];
