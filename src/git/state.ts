/** What keeps a repository from being committed to, in words: the state that it is in, and the way out. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ask, type Repository } from './git.ts';

/** Null where nothing does. */
export async function problemWith(repository: Repository): Promise<string | null> {
  return (
    (await problemWithPlace(repository)) ??
    (await unfinished(repository)) ??
    (await unmerged(repository)) ??
    (await detached(repository)) ??
    problemWithWho(repository)
  );
}

/** No repository, or none with files. */
export async function problemWithPlace(repository: Repository): Promise<string | null> {
  const inside = await ask(repository, ['rev-parse', '--is-inside-work-tree']);
  if (inside.code !== 0) {
    const unsafe = /dubious ownership/i.test(inside.stderr);
    return unsafe
      ? `git does not trust the owner of ${repository.folder}; tell it to with: git config --global --add safe.directory ${repository.folder}`
      : `${repository.folder} is not in a git repository; make it one with: git init`;
  }
  return inside.stdout.toString('latin1').trim() === 'true'
    ? null
    : 'a bare repository has no files to commit; work in a clone of it: git clone';
}

async function unfinished(repository: Repository): Promise<string | null> {
  const answer = await ask(repository, ['rev-parse', '--absolute-git-dir']);
  const folder = answer.stdout.toString('utf8').replace(/\n$/, '');
  const found = UNFINISHED.find(({ file }) => existsSync(join(folder, file)));
  return found === undefined ? null : `${found.what} is in progress; ${found.remedy}`;
}

const both = (command: string): string =>
  `finish it with: git ${command} --continue, or give it up with: git ${command} --abort`;

const UNFINISHED = [
  { file: 'MERGE_HEAD', what: 'a merge', remedy: both('merge') },
  { file: 'rebase-merge', what: 'a rebase', remedy: both('rebase') },
  { file: 'rebase-apply/applying', what: 'git am', remedy: both('am') },
  { file: 'rebase-apply', what: 'a rebase', remedy: both('rebase') },
  { file: 'CHERRY_PICK_HEAD', what: 'a cherry-pick', remedy: both('cherry-pick') },
  { file: 'REVERT_HEAD', what: 'a revert', remedy: both('revert') },
  { file: 'BISECT_LOG', what: 'a bisection', remedy: 'end it with: git bisect reset' },
];

async function unmerged(repository: Repository): Promise<string | null> {
  const { stdout } = await ask(repository, ['ls-files', '--unmerged', '-z']);
  return stdout.length === 0 ? null : 'there are conflicts; resolve them and say so with: git add';
}

async function detached(repository: Repository): Promise<string | null> {
  const { code } = await ask(repository, ['symbolic-ref', '--quiet', 'HEAD']);
  return code === 0 ? null : 'no branch is checked out (detached HEAD); begin one with: git switch -c NAME';
}

/** Nobody to commit in the name of. */
export async function problemWithWho(repository: Repository): Promise<string | null> {
  const [committer, author] = await Promise.all(
    ['GIT_COMMITTER_IDENT', 'GIT_AUTHOR_IDENT'].map((who) => ask(repository, ['var', who])),
  );
  return committer?.code === 0 && author?.code === 0
    ? null
    : 'git does not know who commits; say so with: git config user.name "…" and git config user.email "…"';
}
