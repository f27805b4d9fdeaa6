/**
 * Keeps repositories inside of the workspace from running filters of their own.
 *
 * The filters of the workspace's own repository (LFS, for example) define what git records, so they run. But git looks into
 * submodules and nested repositories with their configuration, and an agent can create such a repository, even in a
 * sandbox where the configuration of the workspace's own repository is read-only. So for every setting of
 * a filter that a nested repository has, the value of the own repository applies, or none.
 */
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { isTaken } from '../files/files.ts';
import { GITLINK_MODE } from './differences.ts';
import { execGit, gitOutput, utf8, withGitConfig, type Repository } from './git.ts';
import { indexFile } from './index-file.ts';

/** The repository, with the filters of the repositories in its index replaced by its own. */
export async function withoutNestedFilters(repository: Repository): Promise<Repository> {
  const nested = await nestedRepositories(repository);
  if (nested.length === 0) return repository;
  const own = await filtersOf(repository);
  const found = await Promise.all(nested.map((path) => filtersBelow(repository, path)));
  // Only what they set: even an empty `process` would keep git from running the own repository's `clean`.
  const settings = found.flat().map((key) => [key, own.get(key) ?? nothing(key)] as const);
  return configured(repository, new Map(settings));
}

/** The repository, with all of its filters switched off, for commands that only compare. */
export async function withoutFilters(repository: Repository): Promise<Repository> {
  const names = await filterNames(repository);
  return configured(repository, new Map(names.flatMap(disabled)));
}

function configured(repository: Repository, settings: ReadonlyMap<string, string>): Repository {
  if (settings.size === 0) return repository;
  return { ...repository, env: withGitConfig(repository.env, Object.fromEntries(settings)) };
}

function disabled(name: string): readonly (readonly [string, string])[] {
  const keys = ['clean', 'smudge', 'process', 'required'].map((key) => `filter.${name}.${key}`);
  return keys.map((key) => [key, nothing(key)] as const);
}

/** The value of a setting of a filter that does nothing. */
function nothing(key: string): string {
  return key.endsWith('.required') ? 'false' : '';
}

/** The settings of the filters of a repository in the index, and of those inside of it. */
async function filtersBelow(repository: Repository, path: string): Promise<readonly string[]> {
  const inside = { ...repository, folder: join(repository.folder, path) };
  if (!(await isRepositoryOfItsOwn(inside))) return [];
  const nested = await nestedRepositories(inside);
  const below = await Promise.all(nested.map((one) => filtersBelow(inside, one)));
  return [...(await filtersOf(inside)).keys(), ...below.flat()];
}

/** Whether a folder is the top of a repository. If its `.git` is missing or broken, git finds the one around it. */
export async function isRepositoryOfItsOwn(repository: Repository): Promise<boolean> {
  const { folder } = repository;
  if (!isTaken(join(folder, '.git'))) return false;
  const { code, stdout } = await execGit(repository, ['rev-parse', '--show-toplevel']);
  return code === 0 && stdout.toString('utf8').replace(/\n$/, '') === realpathSync(folder);
}

async function filterNames(repository: Repository): Promise<readonly string[]> {
  const keys = [...(await filtersOf(repository)).keys()];
  return [...new Set(keys.map((key) => key.slice('filter.'.length, key.lastIndexOf('.'))))];
}

/** The settings of filters in force: keys and values. */
async function filtersOf(repository: Repository): Promise<ReadonlyMap<string, string>> {
  const { code, stdout } = await execGit(repository, [
    'config',
    '--null',
    '--get-regexp',
    String.raw`^filter\.`,
  ]);
  if (code !== 0) return new Map();
  const entries = stdout.toString('utf8').split('\0').slice(0, -1);
  return new Map(
    entries.map((entry) => {
      const end = entry.indexOf('\n');
      return end < 0 ? [entry, 'true'] : [entry.slice(0, end), entry.slice(end + 1)];
    }),
  );
}

/** The paths of the repositories in the index, from its folder. Remembered until the index changes. */
async function nestedRepositories(repository: Repository): Promise<readonly string[]> {
  const { folder } = repository;
  const index = await indexFile(repository);
  if (index?.mayHaveNested !== true) return [];
  const known = knownNested.get(folder);
  if (known?.stamp === index.stamp) return known.paths;
  const listed = (await gitOutput(repository, ['ls-files', '--stage', '-z', ':/'])).split('\0');
  const paths = listed
    .filter((line) => line.startsWith(`${GITLINK_MODE} `))
    .map((line) => utf8(line.slice(line.indexOf('\t') + 1)));
  knownNested.set(folder, { stamp: index.stamp, paths });
  return paths;
}

const knownNested = new Map<string, { readonly stamp: string; readonly paths: readonly string[] }>();
