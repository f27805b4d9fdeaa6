/** Repositories in a tree: what is committed in them may be nowhere else, whoever made them and whether git knows them. */
import { existsSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { A_REPOSITORY } from './differences.ts';
import { ask, tell, utf8, type Repository } from './git.ts';
import { isInside, real } from './worktree.ts';

/**
 * Those that go with a tree and have commits that no remote has. They lie in its folder, if it is still a tree, or in its
 * own part of the repository, where also a submodule stays that is not checked out any more.
 */
export async function unpublished(
  top: string | null,
  repository: Repository,
  part: string | null,
): Promise<readonly string[]> {
  const found = new Map<string, string>();
  if (top !== null) {
    for (const { name, folder } of await checkedOut(repository)) {
      // One that is kept elsewhere stays there.
      const goes = [top, part].some((one) => one !== null && isInside(real(one), real(folder)));
      if (goes) found.set(real(folder), name);
    }
  }
  for (const keeper of part === null ? [...found.keys()] : [part, ...found.keys()]) {
    const modules = join(keeper, 'modules');
    for (const folder of keptIn(modules))
      if (!found.has(real(folder))) found.set(real(folder), relative(modules, folder));
  }
  const checked = await Promise.all(
    [...found].map(async ([folder, name]) => ((await hasOwn(repository, folder)) ? [name] : [])),
  );
  return checked.flat();
}

interface Nested {
  /** The way to it. */
  readonly name: string;
  /** Where its commits are. */
  readonly folder: string;
}

/** Those that are committed, with or without a line in `.gitmodules`, and those in them. */
async function checkedOut(repository: Repository, way = ''): Promise<readonly Nested[]> {
  const listed = (await tell(repository, ['ls-files', '--stage', '-z'])).split('\0');
  const paths = listed
    .filter((line) => line.startsWith(`${A_REPOSITORY} `))
    .map((line) => utf8(line.slice(line.indexOf('\t') + 1)));
  return (await Promise.all(paths.map((path) => lookInto(repository, path, way)))).flat();
}

async function lookInto(repository: Repository, path: string, way: string): Promise<readonly Nested[]> {
  const inside = { ...repository, folder: join(repository.folder, path) };
  const name = join(way, path);
  const unclear = { name, folder: join(inside.folder, '.git') };
  // Its name is no text: nobody finds the way there.
  if (path.includes('\u{FFFD}')) return [unclear];
  if (!existsSync(unclear.folder)) return [];
  const { code, stdout } = await ask(inside, ['rev-parse', '--absolute-git-dir', '--show-toplevel']);
  const [folder = '', top = ''] = stdout.toString('utf8').split('\n');
  // Git sees another one.
  if (code !== 0 || real(top) !== real(inside.folder)) return [unclear];
  return [{ name, folder }, ...(await checkedOut(inside, name))];
}

/** The repositories below a folder, at any depth: the name of a submodule may have slashes. */
function keptIn(folder: string): readonly string[] {
  const inside = existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : [];
  return inside
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(folder, name))
    .flatMap((one) => {
      const isOne = existsSync(join(one, 'HEAD')) && existsSync(join(one, 'objects'));
      return isOne ? [one].concat(keptIn(join(one, 'modules'))) : keptIn(one);
    });
}

/** Whether it has commits that no remote has; also where that cannot be told. */
async function hasOwn(repository: Repository, folder: string): Promise<boolean> {
  // Where its files were may be gone.
  const there = [`--git-dir=${folder}`, `--work-tree=${folder}`];
  const own = ['rev-list', '--count', '--all', '--not', '--remotes'];
  const { code, stdout } = await ask({ ...repository, folder: '/' }, [...there, ...own]);
  return code !== 0 || Number(stdout.toString('latin1')) > 0;
}
