/** What of a repository's git folder a sandbox leaves writable, and what not: hooks and configuration run commands outside. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { foundAt, isTaken, namesIn, textOf } from '../files/files.ts';
import { realPath } from '../files/paths.ts';
import { execGit, type Repository } from '../git/git.ts';
import { isIn } from './sandbox.ts';

/** Asked outside of any view, which is made from the answer: `rev-parse` runs no program and writes nothing. */
export async function gitPlaces(repository: Omit<Repository, 'enclose'>): Promise<GitPlaces> {
  const asked = ['--git-dir', '--git-common-dir', '--git-path', 'hooks', '--show-toplevel'];
  try {
    // Ralph's own calls have no hooks; those of the user are what is to be protected.
    const words = ['rev-parse', '--path-format=absolute', ...asked];
    const here = { ...repository, enclose: null };
    const [{ code, stdout }, origins] = await Promise.all([
      execGit(here, words, {}, { as: 'user' }),
      execGit(here, ['config', '--list', '--show-origin', '--name-only', '--null']),
    ]);
    if (code !== 0) return nothing(repository);
    const output = stdout.toString('utf8');
    const [own = '', common = '', hooks = '', top = ''] = output.split('\n');
    const pointer = join(top, '.git');
    if (!(await belongs(here, { pointer, own, common }))) return nothing(repository);
    const configurations = [
      ...filesIn(origins.stdout.toString('utf8')).map((path) => resolve(top, path)),
      ...[common, own, ...modulesIn(join(common, 'modules')), ...worktreesIn(common)].flatMap((one) =>
        CONFIGURATIONS.map((name) => join(one, name)),
      ),
    ];
    return {
      common,
      visible: [top],
      write: [...new Set([common, own])],
      keep: [
        hooks,
        ...keptIn(common),
        ...(own === common ? [] : keptIn(own)),
        ...[...modulesIn(join(common, 'modules')), ...worktreesIn(common)].flatMap(keptIn),
        // A worktree's pointer to its git folder.
        ...(statSync(pointer, { throwIfNoEntry: false })?.isFile() === true ? [pointer] : []),
      ],
      // They would send git to another configuration; those that exist are among those that are kept.
      absent: [
        join(common, 'commondir'),
        // Git pushes to what they name.
        ...REMOTES.map((name) => join(common, name)),
        ...[common, own, ...worktreesIn(common)].map((one) => join(one, 'config.worktree')),
        ...missingIn(repository.folder),
        // Those that exist are read-only instead.
        ...(await withIncluded(here, configurations)),
        hooks,
      ],
      folders: [join(common, 'hooks')],
    };
  } catch {
    return nothing(repository);
  }
}

/**
 * Whether a git folder is that of the working tree with this `.git`. An agent can make a `.git` or a `commondir` that leads to any
 * other repository, where the run of a child could write then.
 */
async function belongs(
  repository: Repository,
  { pointer, own, common }: { readonly pointer: string; readonly own: string; readonly common: string },
): Promise<boolean> {
  if (own !== common) {
    const back = textOf(join(own, 'gitdir')) ?? '';
    return dirname(own) === join(common, 'worktrees') && realPath(resolve(own, back.trimEnd())) === pointer;
  }
  if (own === pointer) return true;
  // The git folder of a submodule names its working tree.
  const { stdout } = await execGit(repository, ['config', '--local', '--get', 'core.worktree']);
  return realPath(resolve(own, stdout.toString('utf8').trimEnd(), '.git')) === pointer;
}

/** Not a repository, or one that git refuses to read: then it stays read-only. */
function nothing({ folder }: Pick<Repository, 'folder'>): GitPlaces {
  const found = repositoryAbove(folder);
  return {
    common: null,
    visible: [],
    write: [],
    keep: found === null ? [] : [found],
    absent: missingIn(folder),
    folders: [],
  };
}

/** A repository that the agent makes in the workspace has hooks and filters of its own, or points to one elsewhere. */
function missingIn(folder: string): readonly string[] {
  const path = join(folder, '.git');
  return isTaken(path) ? [] : [path];
}

export interface GitPlaces {
  /** The folder that all worktrees share; null if there is no repository that git can read. */
  readonly common: string | null;
  /** Git does not find a repository around the workspace unless it sees the folders in between. */
  readonly visible: readonly string[];
  readonly write: readonly string[];
  /** Read-only, as far as they exist. */
  readonly keep: readonly string[];
  /** Must not be there after a run if they were not there before. */
  readonly absent: readonly string[];
  /** Made if they are missing, so that they can be read-only. */
  readonly folders: readonly string[];
}

function keptIn(folder: string): readonly string[] {
  return [...CONFIGURATIONS, ...REMOTES, 'hooks', 'commondir', 'gitdir'].map((name) => join(folder, name));
}

const CONFIGURATIONS = ['config', 'config.worktree'];
/** Where remotes were configured once; git still reads them. */
const REMOTES = ['remotes', 'branches'];

/** The files that git has settings from. */
function filesIn(origins: string): readonly string[] {
  const fields = origins.split('\0').filter((field) => field.startsWith('file:'));
  return [...new Set(fields.map((field) => field.slice('file:'.length)))];
}

/** Configuration files and what they include, at any depth, whether the condition of an include holds now or not. */
async function withIncluded(repository: Repository, files: readonly string[]): Promise<readonly string[]> {
  const seen = new Set(files);
  // Grows meanwhile.
  for (const file of seen) {
    if (!/include/i.test(textOf(realPath(file)) ?? '')) continue;
    // oxlint-disable-next-line no-await-in-loop -- rare
    for (const path of await includesIn(repository, file)) seen.add(path);
    if (seen.size > MAX_INCLUDES) break;
  }
  return [...seen];
}

async function includesIn(repository: Repository, file: string): Promise<readonly string[]> {
  const asked = ['config', '--file', file, '--no-includes', '--null', '--get-regexp', INCLUDES];
  const { stdout } = await execGit(repository, asked);
  const entries = stdout.toString('utf8').split('\0');
  const paths = entries.flatMap((entry) => entry.split('\n').slice(1, 2)).filter((path) => path !== '');
  const home = repository.env['HOME'] ?? '/';
  return paths.map((path) =>
    path.startsWith('~/') ? join(home, path.slice(2)) : resolve(dirname(file), path),
  );
}

const INCLUDES = String.raw`^include(if\..*)?\.path$`;
const MAX_INCLUDES = 1000;

/** The git folders of the repository's worktrees. */
function worktreesIn(common: string): readonly string[] {
  const folder = join(common, 'worktrees');
  return foundAt(folder)?.isDirectory() === true ? namesIn(folder).map((name) => join(folder, name)) : [];
}

/** The git folders of submodules; their names may have several parts. */
function modulesIn(folder: string, level = 0): readonly string[] {
  if (level > MAX_LEVELS || !existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (!entry.isDirectory()) return [];
    const path = join(folder, entry.name);
    return existsSync(join(path, 'HEAD'))
      ? [path].concat(modulesIn(join(path, 'modules'), level + 1))
      : modulesIn(path, level + 1);
  });
}

const MAX_LEVELS = 8;

function repositoryAbove(folder: string): string | null {
  const path = join(folder, '.git');
  if (existsSync(path)) return path;
  return isIn('/', folder) ? null : repositoryAbove(dirname(folder));
}
