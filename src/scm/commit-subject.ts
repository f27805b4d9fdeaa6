import type { Committed } from '../engine/ports.ts';
import { GitError, gitOutput, utf8, type Repository } from '../git/git.ts';
import { commitText } from '../git/read-ref.ts';

/** Adds the subject and the number of changed files, if it is not known already; `hide` removes secrets. */
export async function withSubject(
  made: Committed,
  repository: Repository,
  hide: (text: string) => string,
  files: number | null,
): Promise<Committed> {
  if (made.commit === null) return made;
  try {
    if (files !== null) {
      const text = await commitText(repository, made.commit);
      return { ...made, subject: hide(subjectOf(text)), files };
    }
    const listed = await gitOutput(repository, [...LIST_FILES, made.commit]);
    const [subject = '', names = ''] = utf8(listed).split(/\n(.*)/s);
    // Git prints nothing for a merge.
    return subject === '' ? made : { ...made, subject: hide(subject), files: names.split('\0').length - 1 };
  } catch (error) {
    if (error instanceof GitError) return made;
    throw error;
  }
}

/** The first paragraph of a commit's message, on one line, as git shows it. */
function subjectOf(commit: string): string {
  const message = commit.slice(commit.indexOf('\n\n') + 2).replace(/^(?:\s*\n)+/, '');
  const [paragraph = ''] = message.split(/\n\s*\n/, 1);
  return paragraph
    .trim()
    .split(/\s*\n\s*/)
    .join(' ');
}

/** Prints the subject on a line, then the changed files. */
const LIST_FILES = ['diff-tree', '--root', '-r', '--no-renames', '--name-only', '-z', '--pretty=format:%s'];
