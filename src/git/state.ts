/** Why a repository cannot be committed to, and how to fix it, as messages for people. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { shellQuote } from '../loop/shell-quote.ts';
import { execGit, gitLine, gitPath, utf8, type Repository } from './git.ts';

/**
 * The first problem found; null if the repository can be committed to. Remembers where a folder is in a repository and git
 * knows who commits: a commit would fail anyway if that has changed, and `explainGitError` asks anew.
 */
export async function problemWith(
  repository: Repository,
  { isNew = false }: { readonly isNew?: boolean } = {},
): Promise<string | null> {
  const { folder } = repository;
  if (isNew || !existsSync(soundFolders.get(folder) ?? '')) soundFolders.delete(folder);
  const isKnown = soundFolders.has(folder);
  const problem =
    (isKnown ? null : await problemWithFolder(repository)) ??
    (await unfinishedOperation(repository)) ??
    (await conflictOrDetachedHead(repository)) ??
    (isKnown ? null : await problemWithIdentity(repository));
  if (problem === null && !isKnown) soundFolders.set(folder, await gitFolder(repository));
  return problem;
}

/** The git folders of the folders in which nothing was wrong. */
const soundFolders = new Map<string, string>();

async function gitFolder(repository: Repository): Promise<string> {
  return utf8(await gitPath(repository, ['--absolute-git-dir']));
}

/** The folder is in no repository, or in a bare one. */
export async function problemWithFolder(repository: Repository): Promise<string | null> {
  const { folder } = repository;
  const inside = await execGit(repository, ['rev-parse', '--is-inside-work-tree']);
  // Git says so since 2.38, where Ralph's calls name no repository.
  if (/cannot use bare repository/.test(inside.stderr)) return BARE;
  if (inside.code !== 0) {
    // Git asks for the top of the repository, which the folder may be below.
    const top = /dubious ownership in repository at '(.*)'$/m.exec(inside.stderr)?.[1] ?? folder;
    return /dubious ownership/i.test(inside.stderr)
      ? `git refuses to work in ${folder} because another user owns it; trust it with: git config --global --add safe.directory ${shellQuote(top)}`
      : `${folder} is not in a git repository; create one with: git init`;
  }
  return inside.stdout.toString('latin1').trim() === 'true' ? null : BARE;
}

const BARE = 'a bare repository has no files to commit; work in a clone of it (git clone)';

async function unfinishedOperation(repository: Repository): Promise<string | null> {
  const folder = await gitFolder(repository);
  const found = OPERATIONS.find(({ file }) => existsSync(join(folder, file)));
  return found === undefined ? null : `${found.name} is in progress; ${found.remedy}`;
}

const continueOrAbort = (command: string): string =>
  `finish it with: git ${command} --continue, or abort it with: git ${command} --abort`;

const OPERATIONS = [
  { file: 'MERGE_HEAD', name: 'a merge', remedy: continueOrAbort('merge') },
  { file: 'rebase-merge', name: 'a rebase', remedy: continueOrAbort('rebase') },
  { file: 'rebase-apply/applying', name: 'git am', remedy: continueOrAbort('am') },
  { file: 'rebase-apply', name: 'a rebase', remedy: continueOrAbort('rebase') },
  { file: 'CHERRY_PICK_HEAD', name: 'a cherry-pick', remedy: continueOrAbort('cherry-pick') },
  { file: 'REVERT_HEAD', name: 'a revert', remedy: continueOrAbort('revert') },
  { file: 'BISECT_LOG', name: 'a bisect', remedy: 'end it with: git bisect reset' },
];

async function conflictOrDetachedHead(repository: Repository): Promise<string | null> {
  const [unmerged, branch] = await gitLine(repository, (git) => [
    git(['ls-files', '--unmerged', '-z']),
    git(['symbolic-ref', '--quiet', 'HEAD']),
  ]);
  if (unmerged?.stdout !== '')
    return 'there are unresolved conflicts; resolve them and mark them as resolved with: git add';
  return branch?.code === 0
    ? null
    : 'no branch is checked out (detached HEAD); create one with: git switch -c NAME';
}

/** Git has no name or email to commit with. */
export async function problemWithIdentity(repository: Repository): Promise<string | null> {
  const [committer, author] = await Promise.all(
    ['GIT_COMMITTER_IDENT', 'GIT_AUTHOR_IDENT'].map((name) => execGit(repository, ['var', name])),
  );
  return committer?.code === 0 && author?.code === 0
    ? null
    : 'git has no name and email to commit with; set them with: git config user.name "…" and git config user.email "…"';
}
