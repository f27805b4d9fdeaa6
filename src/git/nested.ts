/** Repositories inside a worktree, submodules or not. Their commits may exist nowhere else. */
import { existsSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { GITLINK_MODE } from './differences.ts';
import { execGit, gitOutput, utf8, type Repository } from './git.ts';
import { isInside, realPath } from '../files/files.ts';

/**
 * The nested repositories that removing a worktree would delete and that have commits no remote has. Their git folders are
 * in the worktree (`top`, null if it is no valid worktree) or in its admin folder, where the git folder of a submodule
 * stays even after it is no longer checked out.
 */
export async function unpublishedRepositories(
  top: string | null,
  repository: Repository,
  adminFolder: string | null,
): Promise<readonly string[]> {
  const found = new Map<string, string>();
  if (top !== null) {
    for (const { name, gitFolder } of await checkedOut(repository)) {
      const isRemovedToo = [top, adminFolder].some(
        (folder) => folder !== null && isInside(realPath(folder), realPath(gitFolder)),
      );
      if (isRemovedToo) found.set(realPath(gitFolder), name);
    }
  }
  for (const parent of adminFolder === null ? [...found.keys()] : [adminFolder, ...found.keys()]) {
    const modules = join(parent, 'modules');
    for (const folder of gitFoldersBelow(modules))
      if (!found.has(realPath(folder))) found.set(realPath(folder), relative(modules, folder));
  }
  const checked = await Promise.all(
    [...found].map(async ([folder, name]) => ((await hasUnpublished(repository, folder)) ? [name] : [])),
  );
  return checked.flat();
}

interface NestedRepository {
  /** Its path in the worktree. */
  readonly name: string;
  readonly gitFolder: string;
}

/** The repositories in the index, with or without an entry in `.gitmodules`, and those inside of them. */
async function checkedOut(repository: Repository, prefix = ''): Promise<readonly NestedRepository[]> {
  const listed = (await gitOutput(repository, ['ls-files', '--stage', '-z'])).split('\0');
  const paths = listed
    .filter((line) => line.startsWith(`${GITLINK_MODE} `))
    .map((line) => utf8(line.slice(line.indexOf('\t') + 1)));
  return (await Promise.all(paths.map((path) => inspect(repository, path, prefix)))).flat();
}

async function inspect(
  repository: Repository,
  path: string,
  prefix: string,
): Promise<readonly NestedRepository[]> {
  const inside = { ...repository, folder: join(repository.folder, path) };
  const name = join(prefix, path);
  const unclear = { name, gitFolder: join(inside.folder, '.git') };
  // A name that is not valid UTF-8 cannot be opened by this path.
  if (path.includes('\u{FFFD}')) return [unclear];
  if (!existsSync(unclear.gitFolder)) return [];
  const { code, stdout } = await execGit(inside, ['rev-parse', '--absolute-git-dir', '--show-toplevel']);
  const [gitFolder = '', top = ''] = stdout.toString('utf8').split('\n');
  // If its `.git` is broken, git reports the repository around it.
  if (code !== 0 || realPath(top) !== realPath(inside.folder)) return [unclear];
  return [{ name, gitFolder }, ...(await checkedOut(inside, name))];
}

/** At any depth, because the name of a submodule may contain slashes. */
function gitFoldersBelow(folder: string): readonly string[] {
  const inside = existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : [];
  return inside
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(folder, name))
    .flatMap((one) => {
      const isGitFolder = existsSync(join(one, 'HEAD')) && existsSync(join(one, 'objects'));
      return isGitFolder ? [one].concat(gitFoldersBelow(join(one, 'modules'))) : gitFoldersBelow(one);
    });
}

/** Whether it has commits that no remote has; true if git cannot tell. */
async function hasUnpublished(repository: Repository, gitFolder: string): Promise<boolean> {
  // Its configured work tree may be gone.
  const location = [`--git-dir=${gitFolder}`, `--work-tree=${gitFolder}`];
  const count = ['rev-list', '--count', '--all', '--not', '--remotes'];
  const { code, stdout } = await execGit({ ...repository, folder: gitFolder }, [...location, ...count]);
  return code !== 0 || Number(stdout.toString('latin1')) > 0;
}
